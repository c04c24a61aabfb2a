"""What an edit did: each text of two versions is kept, moved, reworded, lost or added, once."""

from collections import Counter

import pytest

from skilljuror.audit.edits import edits_between
from tests.support.gate_pairs import FAITHFUL, FLAT, SOURCE
from tests.support.knowledge_bundles import bundle, skill

FIRING = """
# Kiln

## Firing

Heat to 1200 degrees. Never open the door above 300 degrees.

Labels:

- Raw.
- Glazed twice.
- Fired.

```sh
kiln --dry --fast
```
"""
NEEDLE = "Wait until the needle is below 90."
COOLING = f"\n## Cooling\n\n{NEEDLE}\n"
BEFORE = FIRING + COOLING
LABELS = "Labels:\n\n- Raw.\n- Glazed twice.\n- Fired.\n"
LEAD = "\nTo cool the kiln, read `references/cooling.md`.\n"


def found(before, after, *elsewhere):
    """(kind, text before, text after) of each edit that is not `kept`."""
    return [
        (edit.kind, edit.before and edit.before.text, edit.after and edit.after.text)
        for edit in edits_between(before, after, elsewhere).edits
        if edit.kind != "kept"
    ]


def test_equal_skills_are_kept():
    assert found(skill(BEFORE), skill(BEFORE)) == []


CASES = {
    "a word changed": (
        BEFORE.replace("1200", "1300"),
        [("reworded", "Heat to 1200 degrees.", "Heat to 1300 degrees.")],
    ),
    "only its markup changed": (BEFORE.replace("needle", "_needle_").replace("- Raw", "* Raw"), []),
    "an item left": (BEFORE.replace("- Glazed twice.\n", ""), [("lost", "Glazed twice.", None)]),
    "an item came": (
        BEFORE.replace("- Fired.\n", "- Fired.\n- Sold.\n"), [("added", None, "Sold.")],
    ),
    "a section moved to a page": (
        skill(FIRING + LEAD, **{"references/cooling.md": f"# Cooling\n\n{NEEDLE}\n"}),
        [
            ("added", None, LEAD.strip()), ("moved", "Cooling", "Cooling"),
            ("moved", NEEDLE, NEEDLE),
        ],
    ),
    "a line below another heading": (
        BEFORE.replace("Heat to 1200 degrees. ", "") + "\nHeat to 1200 degrees.\n",
        [("moved", "Heat to 1200 degrees.", "Heat to 1200 degrees.")],
    ),
    "a list became a sentence": (
        BEFORE.replace(LABELS, "Labels: Raw. Glazed twice. Fired.\n"), [],
    ),
    "one text between the same two": (
        BEFORE.replace("kiln --dry --fast", "kiln --fast"),
        [("reworded", "kiln --dry --fast", "kiln --fast")],
    ),
    "another text between the same two": (
        BEFORE.replace("- Glazed twice.\n", "- Broken.\n"),
        [("added", None, "Broken."), ("lost", "Glazed twice.", None)],
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_a_text_has_one_record_that_says_what_became_of_it(case):
    after, expected = CASES[case]
    assert found(skill(BEFORE), skill(after) if isinstance(after, str) else after) == expected


def test_a_row_is_paired_by_its_first_cell():
    table = "\n| field | rule |\n|---|---|\n| name | may hold {} |\n| note | is optional |\n"
    before, after = (
        skill(table.format(one)) for one in ("thirty letters", "whatever its owner writes in it")
    )
    ((kind, old, new),) = found(before, after)
    assert (kind, "thirty" in old, "whatever" in new) == ("reworded", True, True)


def test_text_that_another_skill_holds_is_moved():
    after = skill(FIRING)
    other = bundle({"cool/SKILL.md": f"---\nname: cool\ndescription: Cools.\n---\n{COOLING}"})
    lost = [("Cooling", None), (NEEDLE, None)]
    assert found(skill(BEFORE), after) == [("lost", *texts) for texts in lost]
    assert found(skill(BEFORE), after, other) == [("moved", *texts) for texts in lost]


def test_a_copy_that_left_is_no_loss():
    before = skill(BEFORE.replace("Labels:", f"{NEEDLE}\n\nLabels:"))
    assert found(before, skill(BEFORE)) == [("merged", NEEDLE, None)]


@pytest.mark.parametrize("kind", FAITHFUL)
def test_a_layout_loses_nothing(kind):
    edits = edits_between(SOURCE, FAITHFUL[kind]).edits
    assert {edit.kind for edit in edits} <= {"kept", "moved", "added"}


def test_each_text_is_in_one_record():
    edits = edits_between(SOURCE, FLAT).edits
    for side in ("before", "after"):
        counts = Counter(id(unit) for edit in edits if (unit := getattr(edit, side)))
        assert set(counts.values()) == {1}


def test_a_text_is_in_place_beside_the_text_that_it_was_beside():
    changed = skill(BEFORE.replace("kiln --dry", "kiln --wet"))
    (edit,) = (
        edit for edit in edits_between(skill(BEFORE), changed).edits if edit.kind == "reworded"
    )
    assert edit.in_place
    (change,) = edit.changes
    assert change == ("argument", "--dry", "--wet")
