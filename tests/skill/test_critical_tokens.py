"""Critical tokens: the words of a statement that change what an agent must do."""

import time

import pytest

from skilljuror.skill.critical_tokens import critical_change, critical_tokens


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("Wait 30 s.", ("num:30|s",)),
        ("Use 30 to 60 ms.", ("num:30|", "num:60|ms")),
        ("Keep 1,000.5 rows", ("num:1,000.5|rows",)),
        ("a shift of -3 dB", ("num:-3|dB",)),
        ("about 1e-6 mol", ("num:1e-6|mol",)),
        ("p < 0.05", ("cmp:<", "num:0.05|")),
        ("at least two passes", ("cmp:at least", "num:two|")),
        ("You MUST NOT stop", ("mod:MUST NOT",)),
        ("Never stop", ("mod:never",)),
        ("do  not stop", ("mod:do not",)),
        ("Run `fit.py` with --fast", ("code:fit.py", "path:fit.py", "flag:--fast")),
        ("see docs/a.md", ("path:docs/a.md",)),
        ("plain words", ()),
        ("an <em>html</em> tag", ()),
        ("Python3 and utf8", ()),
    ],
)
def test_tokens_stand_in_reading_order(text, tokens):
    assert critical_tokens(text) == tokens


@pytest.mark.parametrize(
    ("before", "after", "change"),
    [
        ("Do not stop", "Stop", "polarity"),
        ("Never stop", "Do not stop", "modal"),
        ("Keep at least 3", "Keep at most 3", "comparator-flip"),
        ("x > 3", "x < 3", "comparator-flip"),
        ("Keep exactly 3", "Keep 3", "comparator"),
        ("Keep 3", "Keep 4", "number"),
        ("Wait three days", "Wait four days", "number"),
        ("Wait 3 ms", "Wait 3 s", "unit"),
        ("30 to 60", "60 to 30", "number"),
        ("You must stop", "You should stop", "modal"),
        ("You must stop", "You MUST stop", "modal"),
        ("Use --fast", "Use --slow", "reference"),
        ("Use `a` then `b`", "Use `b` then `a`", "order"),
        ("Stop here", "Halt here", None),
        ("Never stop 3 times", "Stop 4 times", "polarity"),
    ],
)
def test_the_worst_change_is_named(before, after, change):
    assert critical_change(critical_tokens(before), critical_tokens(after)) == change


@pytest.mark.parametrize("piece", ["a/", "a.", "1,", "1.", "`", "--a", "<", "a-", "no ", "9e"])
def test_hostile_text_takes_linear_time(piece):
    start = time.perf_counter()
    critical_tokens(piece * 20_000)
    assert time.perf_counter() - start < 2


def test_a_strike_through_is_a_negation():
    plain, struck = map(critical_tokens, ("Sign it twice.", "~~Sign it twice.~~"))
    assert critical_change(plain, struck) == "polarity"
    assert critical_change(plain, critical_tokens("<del>Sign it twice.</del>")) == "polarity"
    assert critical_tokens("Type `~~x~~`.") == ("code:~~x~~",)


def test_an_address_is_critical_with_its_path():
    old, new = (critical_tokens(f"See (https://a.example/docs/{end}).") for end in ("log", "plan"))
    assert old == ("path:https://a.example/docs/log",)
    assert critical_change(old, new) == "reference"
