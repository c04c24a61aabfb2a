"""The ablation: every rule can be switched off from outside, and is on again afterwards."""

from benchmarks.ablate import Change, _resolve, compare, main, switched_off
from benchmarks.ablation_rules import RULES
from tests.support.attribution_runs import BUNDLE, TAXES, events_of, ran
from tests.support.every import every

NAMES = [rule.name for rule in RULES]


@every("rule", RULES)
def test_a_rule_is_switched_off_and_on_again(rule):
    before = {target: _resolve(target)[2] for target in rule.off}
    with switched_off(rule):
        assert all(_resolve(target)[2] is stand_in for target, stand_in in rule.off.items())
    assert all(_resolve(target)[2] is value for target, value in before.items())


def test_a_function_is_replaced_where_it_was_imported_by_name():
    (rule,) = [one for one in RULES if one.name == "programs: unknown"]
    command = f"{BUNDLE}/scripts/total.py"
    assert [one.kind for one in events_of(ran(command))] == ["exec"]
    with switched_off(rule):
        assert events_of(ran(command)) == []


def test_events_are_compared_by_place_resource_and_kind():
    command = f"cat {BUNDLE}/references/taxes.md"
    (shown,), (hidden,) = events_of(ran(command, TAXES)), events_of(ran(f"{command} > x"))
    (other,) = events_of(ran(f"cat {BUNDLE}/SKILL.md > x"))
    before = [(shown,), (other,), ()]
    assert compare(before, before) == Change(0, 0, 0)
    assert compare(before, [(hidden,), (), (other,)]) == Change(lost=1, gained=1, changed=1)


def test_without_the_reference_logs_the_golden_ones_are_tried(tmp_path, capsys):
    absent = ["--corpus", str(tmp_path / "a"), "--labels", str(tmp_path / "b")]
    assert main([*absent, "--rule", "run: polls"]) == 0
    out = capsys.readouterr().out
    assert f"{tmp_path / 'a'} is absent" in out
    assert "-0 +0 ~1" in out
