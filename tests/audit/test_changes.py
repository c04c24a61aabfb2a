"""The words that differ in two texts, each difference with a type; another spelling is no difference."""

import pytest

from skilljuror.audit.changes import changes_of, likeness, words_named
from tests.support.every import every

CHANGED = [
    ("statement", "Heat to 1200 degrees.", "Heat to 1300 degrees.", "number"),
    ("statement", "Ask 3 reviewers.", "Ask four reviewers.", "number"),
    ("statement", "Set low to 3 and high to 5.", "Set low to 5 and high to 3.", "number number"),
    ("statement", "Wait 5 minutes.", "Wait 5 seconds.", "unit"),
    ("statement", "Fire while cones > 3.", "Fire while cones < 3.", "comparator"),
    ("code", "if cones > 3:", "if cones <= 3:", "comparator"),
    ("statement", "The mode is `slow` by default `3`.", "The mode is `slow` by default `4`.", "default"),
    ("statement", "Never open the door.", "Open the door.", "negation"),
    ("statement", "Do not open the door.", "Do open the door.", "negation"),
    ("statement", "Don’t open the door.", "Open the door.", "negation"),
    ("statement", "Open the door.", "~~Open the door.~~", "negation negation"),
    ("statement", "Enable the fan.", "Disable the fan.", "opposite"),
    ("statement", "You must wear gloves.", "You should wear gloves.", "permission"),
    ("statement", "You may wear gloves.", "You must wear gloves.", "permission"),
    ("statement", "You should wear gloves.", "You may wear gloves.", "modal"),
    ("statement", "Check every shelf.", "Check some shelf.", "quantifier"),
    ("statement", "Sign and date the batch.", "Sign or date the batch.", "conjunction"),
    ("statement", "Load the pots when the fan runs.", "Load the pots.", "condition"),
    ("statement", "Ask the user for a batch.", "Ask the agent for a batch.", "agent"),
    ("statement", "Run `kiln_fire` first.", "Run `kiln_light` first.", "name"),
    ("statement", "See https://a.example/kiln now.", "See https://b.example/kiln2 now.", "name"),
    ("code", "kiln_fire(3)", "kiln_light(3)", "name"),
    ("code", "Batch = 1", "batch = 1", "name"),
    ("code", "cat references/a.md", "cat docs/a.md", "path"),
    ("code", "kiln --dry --fast", "kiln --fast", "argument"),
    ("code", "kiln --dry", "kiln --wet", "argument"),
    ("statement", "Go on with step 3 now.", "Go on with step 4 now.", "pointer"),
    ("heading", "Fire in round 3", "Fire in round 4", "pointer"),
    ("statement", "Sweep the shelf.", "Clean the shelf.", "words"),
    ("statement", "Sweep the shelf.", "Sweep the shelf of the kiln with the soft brush.", "words"),
]  # fmt: skip
"""(kind of unit, before, after, types of the differences)"""


@pytest.mark.parametrize(("kind", "before", "after", "types"), CHANGED)
def test_a_difference_has_a_type(kind, before, after, types):
    found = [change.type for change in changes_of(kind, before, after)]
    assert found == types.split(), (before, after)


def test_a_change_has_the_words_of_both_sides():
    assert [change[1:] for change in changes_of("statement", "Ask 3 reviewers.", "Ask 4.")] == [
        ("3 reviewers", "4")
    ]


HARMLESS = [
    ("thousands", "It holds 1,000 pots.", "It holds 1000 pots."),
    ("for example", "Use a tool, e.g. `awl`.", "Use a tool, for example `awl`."),
    ("for instance", "Use a tool (e.g., `awl`).", "Use a tool (for instance, `awl`)."),
    ("that is", "Take the last, i.e. the third.", "Take the last, that is, the third."),
    ("contraction", "Don't stop.", "Do not stop."),
    ("typographic contraction", "It isn’t hot.", "It is not hot."),
    ("cannot", "You can't stop.", "You cannot stop."),
    ("will", "You'll see it.", "You will see it."),
    ("quotes", "Say “yes”.", 'Say "yes".'),
    ("spelling", "Organise the colours.", "Organize the colors."),
    ("emphasis", "**Fire** the pots.", "Fire the *pots*."),
    ("code span", "Run `fire`.", "Run fire."),
    ("case", "Fire the Pots.", "Fire the pots."),
    ("dash", "Fire the pots — slowly.", "Fire the pots, slowly."),
    ("bullet", "• Fire the pots", "Fire the pots."),
    ("white space", "Fire  the\npots.", "Fire the pots."),
]
"""(what differs, before, after)"""


@pytest.mark.parametrize(("what", "before", "after"), HARMLESS)
def test_another_spelling_is_no_difference(what, before, after):
    assert [*changes_of("statement", before, after)] == []
    assert [*changes_of("statement", after, before)] == []


def test_a_comment_of_code_is_no_difference_and_a_quote_is_one():
    assert [*changes_of("code", "fire(3)  # three", "fire(3)  # cones")] == []
    assert [change.type for change in changes_of("code", "say “a”", 'say "a"')] == ["words"] * 2


def test_a_date_is_no_number():
    types = [one.type for one in changes_of("statement", "As of 2026-01-02.", "As of 2026-03-04.")]
    assert types == ["words"]


def test_text_of_a_code_span_is_no_prose():
    """`must` in code is a name, not a duty."""
    (change,) = changes_of("statement", "Set `must` to 1.", "Set `may` to 1.")
    assert change.type == "name"


def test_likeness_is_the_share_of_equal_words():
    assert likeness("Fire the pots.", "fire the *pots*", code=False) == 1
    assert likeness("Fire the pots.", "Sweep a shelf.", code=False) == 0
    assert likeness("Fire the pots now", "Fire the cups now", code=False) == 0.75


@every("name", words_named)
def test_the_lists_of_words_are_lower_case(name):
    """Words are compared in lower case."""
    assert all(word == word.lower() for word in words_named()[name])
