"""What every gate of the registry must do: pass the faithful, fail the planted."""

from itertools import product

import pytest

from skilljuror.audit.edited import edit_rules
from skilljuror.audit.gates import GATES
from skilljuror.audit.gates.policies import policy
from skilljuror.audit.gates.rules import RULES, explain
from skilljuror.base.errors import UsageError, resolve
from tests.support.every import every
from tests.support.gate_pairs import FAITHFUL, SOURCE
from tests.support.planted_drift import PLANTS

STRUCTURAL = {"layout.roots", "layout.flat", "layout.inlined"} | {
    r for r in RULES if r.startswith("layout.pd-")
}
"""Rules that a kind of layout promises; they cannot be inherited."""


EDITS = edit_rules()
ONLY_OF_EDITS = {
    "default", "name", "modal", "pointer", "link", "anchor", "target", "emptied", "exchanged", "file-gone", "duty",
    "duty-said", "moved", "renamed", "tools",
}  # fmt: skip
"""Rules of edits that need a longer text: tests/audit/test_edited.py."""
ALL = {**RULES, **{r: one for r, one in EDITS.items() if r[5:] not in ONLY_OF_EDITS}}


def gate_of(rule):
    name = rule.partition(".")[0]
    return "knowledge" if name == "edit" else name


def check(rule, parent, variant, kind, named="strict"):
    gate = resolve(GATES, gate_of(rule), "gate")()
    return gate.check(parent, variant, kind, named)


@every(
    "gate, kind, named",
    product(GATES, FAITHFUL, ["strict", "rewritten"]),
    "A gate passes the pairs of tests/support/gate_pairs.py; extend them where it looks at something new.",
)
def test_a_faithful_pair_passes(gate, kind, named):
    result = check(gate, SOURCE, FAITHFUL[kind], kind, named)
    assert (result.verdict, result.gate) == ("pass", gate)
    assert result.checked


@every("rule", ALL, "Every rule needs a planted defect: PLANTS in tests/support/planted_drift.py.")
def test_a_planted_defect_is_told_by_its_rule(rule):
    plant = PLANTS[rule]
    result = check(rule, plant.parent, plant.bundle(), plant.kind)
    (finding, *_) = [f for f in result.findings if f.rule == rule]
    assert not finding.inherited
    assert finding.severity == ALL[rule].severity
    decides = finding.severity != "info" or rule in policy("strict").rules
    assert result.verdict == policy("strict").rules.get(rule, "fail") or not decides


@every(
    "rule",
    sorted(set(ALL) - STRUCTURAL),
    "Report through `differential`, which marks what the parent already had as inherited.",
)
def test_what_the_parent_already_had_decides_nothing(rule):
    plant = PLANTS[rule]
    both = plant.bundle()
    result = check(rule, both, both, plant.kind)
    assert all(f.inherited for f in result.findings if f.rule == rule)


@every(
    "gate",
    GATES,
    "Add its rules to RULES in skilljuror/audit/gates/rules.py, each named GATE.SOMETHING.",
)
def test_every_gate_has_rules_and_only_its_own(gate):
    own = {rule for rule in {**RULES, **EDITS} if gate_of(rule) == gate}
    assert own
    for rule in own & {*PLANTS}:
        result = check(rule, PLANTS[rule].parent, PLANTS[rule].bundle(), PLANTS[rule].kind)
        assert {finding.rule for finding in result.findings} <= own


@every("gate", GATES)
def test_a_gate_answers_the_same_twice(gate):
    own = [plant for rule, plant in PLANTS.items() if gate_of(rule) == gate]
    for plant in own:
        one, two = (check(gate, SOURCE, plant.bundle(), plant.kind) for _ in range(2))
        assert one == two


@every(
    "rule",
    {**RULES, **EDITS},
    "A Rule needs `what`, `why` and `fix`: skilljuror/audit/gates/rules.py.",
)
def test_every_rule_is_explained(rule):
    told = explain(rule, {**RULES, **EDITS})
    assert told.startswith(f"{rule} (")
    assert all(word in told for word in ("found:", "why:", "fix:"))
    assert not any(word in told for word in ("drift:", "/skills "))  # where we needed it


def test_an_unknown_rule_names_the_nearest_and_what_lists_all():
    with pytest.raises(
        UsageError, match=r"did you mean 'layout\.flat'\? `skilljuror audit --rules`"
    ):
        explain("layout.flats")
    with pytest.raises(
        UsageError, match=r"unknown rule 'nothing'; `skilljuror audit --rules` lists"
    ):
        explain("nothing")
