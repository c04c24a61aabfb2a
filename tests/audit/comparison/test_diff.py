import pytest

from skilljuror.audit.comparison.diff import diff
from skilljuror.skill.generated import fill_template
from tests.support.knowledge_bundles import bundle, skill

BODY = """# Guide

Always keep at least 3 copies of the report. Do not delete the log file.

## Steps

1. Open the form.
2. Fill every field of it.
3. Save it as a new file.

## Limits

| field | max |
|---|---|
| name | long |
| note | short |

```bash
python run.py --strict in.csv
```
"""


def changes(after, before=BODY):
    found = diff(skill(before), skill(after))
    return [pair.change for pair in found.altered]


@pytest.mark.parametrize(
    ("old", "new", "change"),
    [
        ("at least 3", "at most 3", "comparator-flip"),
        ("at least 3", "at least 4", "number"),
        ("Do not delete", "Always delete", "polarity"),
        ("Always keep", "Usually keep", "modal"),
        ("--strict", "--lax", "code"),
        ("| name | long |\n| note | short |", "| name | short |\n| note | long |", "row"),
        ("2. Fill every field of it.\n3. Save it as a new file.",
         "2. Save it as a new file.\n3. Fill every field of it.", "steps"),
        ("description: Do a thing.", "description: Do another thing.", "field"),
        ("copies of the report", "report of the copies", "order"),
    ], ids=["comparator", "number", "negation", "modal", "flag in code", "table cells", "steps", "frontmatter", "word order"],
)  # fmt: skip
def test_alterations_are_named(old, new, change):
    before, after = skill(BODY), skill(BODY)
    root = before.files["demo/SKILL.md"].text or ""
    assert old in root
    after = bundle({"demo/SKILL.md": root.replace(old, new)})
    assert change in [pair.change for pair in diff(before, after).altered]


def test_nothing_changed():
    found = diff(skill(BODY), skill(BODY))
    assert not (found.altered)
    assert not (found.missing)
    assert not (found.added)
    assert not (found.moved)
    assert not (found.reworded)
    assert found.compared["row"] == 3


def test_other_words_with_the_same_criticals_are_reworded():
    found = diff(skill(BODY), skill(BODY.replace("Open the form", "Open that form")))
    assert [pair.after.text for pair in found.reworded] == ["Open that form."]
    assert not found.altered


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Make the SMALLEST possible change to it.", "Make the LARGEST possible change to it."),
        ("Can you trigger it reliably?", "Can you trigger it rarely?"),
        ("Mend it at source, not at symptom.", "Mend it at symptom, not at symptom."),
        ("Passes?", "Fails?"),
        ("**Good**", "**Bad**"),
    ],
)  # fmt: skip
def test_a_word_turned_into_its_opposite_is_altered(old, new):
    found = diff(skill(f"# A\n\n{old}\n\nText.\n"), skill(f"# A\n\n{new}\n\nText.\n"))
    assert [pair.change for pair in found.altered] == ["opposite"]
    assert (found.reworded, found.missing, found.added) == ((), (), ())


def test_two_words_elsewhere_hide_no_opposite():
    text, page = "## Grader\n\n**{}:** `a.json` for each test.\n", "# Pipeline\n\n{}Run it.\n"
    before = skill(text.format("Output"), **{"references/p.md": page.format("")})
    made = {"references/p.md": page.format("## Contents\n\n- Output Structure\n\n")}
    found = diff(before, skill(text.format("Input"), **made))
    assert [(pair.after.text, pair.change) for pair in found.altered] == [("Input:", "opposite")]


def test_two_steps_swapped_and_reworded_are_still_seen():
    after = BODY.replace(
        "2. Fill every field of it.\n3. Save it as a new file.",
        "2. Save it as some new file.\n3. Fill every field of this.",
    )
    assert "steps" in changes(after)


def test_missing_and_added_units_are_told():
    found = diff(skill("Keep it.\n"), skill("Throw away everything else.\n"))
    assert [unit.text for unit in found.missing] == ["Keep it."]
    assert [unit.text for unit in found.added] == ["Throw away everything else."]


def test_a_statement_below_another_heading_has_moved():
    before = "# A\n\nKeep it.\n\n# B\n\nText here.\n"
    after = "# A\n\n# B\n\nText here.\n\nKeep it.\n"
    found = diff(skill(before), skill(after))
    assert [(p.before.headings, p.after.headings) for p in found.moved] == [(("A",), ("B",))]


@pytest.mark.parametrize(
    "after",
    [
        "# A\n\n## Limits\n\n# B\n\n## Contents\n\n- Here\n\nKeep it.\n\n## Here\n\nText here.\n",
        "# A\n\n## Limits\n\n# B\n\n## Here\n\nText here.\n\n## Supporting files\n\nKeep it.\n",
    ],
    ids=["contents", "routing table"],
)
def test_a_generated_table_is_no_hiding_place(after):
    before = "# A\n\n## Limits\n\nKeep it.\n\n# B\n\n## Here\n\nText here.\n"
    assert [pair.before.text for pair in diff(skill(before), skill(after)).moved] == ["Keep it."]


def test_the_opening_of_a_page_may_follow_its_contents():
    before = "# A\n\nKeep it.\n\n## Here\n\nText here.\n"
    after = "# A\n\n## Contents\n\n- Here\n\nKeep it.\n\n## Here\n\nText here.\n"
    assert not diff(skill(before), skill(after)).moved


def test_a_renamed_heading_moves_nothing():
    before = "# Old name of it\n\nKeep it.\n"
    assert not diff(skill(before), skill("# New name of it\n\nKeep it.\n")).moved


@pytest.mark.parametrize(
    ("path", "text", "change"),
    [("run.py", "print(2)\n", "content"), ("go.py", "print(1)\n", "renamed")],
    ids=["bytes", "name"],
)
def test_files_are_compared_by_path_and_bytes(path, text, change):
    found = diff(skill("", **{"run.py": "print(1)\n"}), skill("", **{path: text}))
    assert [pair.change for pair in found.altered if pair.before.kind == "file"] == [change]


def test_a_file_in_a_fence_is_the_same_file():
    flat = skill("## Helper implementation for `run.py`\n\n```python\nprint(1)\n```\n")
    found = diff(skill("", **{"run.py": "print(1)\n"}), flat)
    assert not (found.altered)
    assert not (found.missing)
    assert not (found.added)
    assert [unit.generated for unit in found.generated] == ["marker"]


def test_moving_paths_is_not_a_change():
    before = skill("Read docs/a.md first.\n", **{"docs/a.md": "Text.\n"})
    after = skill("Read references/docs/a.md first.\n", **{"references/docs/a.md": "Text.\n"})
    found = diff(before, after)
    assert not (found.altered)
    assert not (found.missing)
    assert not (found.added)
    assert not (found.reworded)


@pytest.mark.parametrize(("topics", "made"), [("Fonts", True), ("5 Fonts", False), ("dogs", False)])
def test_a_routing_row_may_only_repeat_its_target(topics, made):
    before = skill("# A\n\nText.\n\n## Fonts\n\nUse serif.\n")
    row = fill_template(
        "row-file", {"path": "references/a.md", "link": "references/a.md", "topics": topics}
    )
    after = skill(f"# A\n\nText.\n\n{row}\n", **{"references/a.md": "# Fonts\n\nUse serif.\n"})
    found = diff(before, after)
    assert bool(found.generated) is made
    assert bool(found.added) is not made
