import pytest

from skilljuror.audit.comparison.diff import diff
from tests.support.knowledge_bundles import bundle, skill


def moved(before, after, **files):
    found = diff(skill(before), skill(after, **files))
    return [pair.before.text for pair in found.moved]


CONDITIONS = "## When\n\n{}\n\n- It is late\n- It is short\n\n{}\n\n- It is new\n"


def test_lists_below_each_others_leads():
    before = CONDITIONS.format("Check it first when:", "Leave it alone when:")
    after = CONDITIONS.format("Leave it alone when:", "Check it first when:")
    assert moved(before, after) == ["It is late", "It is new"]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("**Good**\n\n```py\nf(1)\n```\n\n**Bad**\n\n```py\ng(2)\n```\n",
         "**Bad**\n\n```py\nf(1)\n```\n\n**Good**\n\n```py\ng(2)\n```\n"),
        ("<Good>\nKeep it.\n</Good>\n\n<Bad>\nDrop it.\n</Bad>\n",
         "<Bad>\nKeep it.\n</Bad>\n\n<Good>\nDrop it.\n</Good>\n"),
        ("- Allowed:\n  - Tea\n- Forbidden:\n  - Ink\n", "- Forbidden:\n  - Tea\n- Allowed:\n  - Ink\n"),
    ], ids=["code", "tags", "items"],
)  # fmt: skip
def test_what_stands_below_another_lead(before, after):
    assert moved(before, after)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("Check it when:\n- It is late\n", "Check that when:\n- It is late\n"),
        ("Check it when:\n- It is late\n", "Look at it:\n- It is late\n\nCheck it when:\n- It is new\n"),
        ("A:\n- Save it\n- One\n\nB:\n- Save it\n- Two\n", "B:\n- Save it\n- Two\n\nA:\n- Save it\n- One\n"),
        ("## When\n\nA:\n- One\n\n## Who\n\nB:\n- Two\n", "# Who\n\nB:\n- Two\n\n# When\n\nA:\n- One\n"),
    ], ids=["reworded", "a lead of its own", "the same text twice", "whole sections"],
)  # fmt: skip
def test_what_keeps_its_lead(before, after):
    assert moved(before, after) == []


ONE, TWO = "### Tea\n\nHot.\n\n", "### Ink\n\nBlue.\n\n"


def test_sections_below_each_others_titles():
    before = f"# Drink\n\n## Cups\n\n{ONE}## Pens\n\n{TWO}"
    after = f"# Drink\n\n## Cups\n\n{TWO}## Pens\n\n{ONE}"
    assert moved(before, after) == ["Tea", "Ink"]


@pytest.mark.parametrize(
    "after",
    [
        f"# Drink\n\n## Pens\n\n{TWO}## Cups\n\n{ONE}",
        f"# Drink\n\n## Cups\n\n{ONE}{TWO}",
        f"# Drink\n\n## Cups\n\n## Pens\n\n{TWO}{ONE.replace('###', '#')}",
    ],
    ids=["exchanged", "merged", "promoted"],
)
def test_whole_sections_may_move(after):
    assert moved(f"# Drink\n\n## Cups\n\n{ONE}## Pens\n\n{TWO}", after) == []


def test_titles_of_two_files_are_no_siblings():
    one, other = "references/a.md", "references/b.md"
    before = {one: f"# A\n\nOne.\n\n{ONE}", other: "# B\n\nTwo.\n"}
    after = {one: "# A\n\nOne.\n", other: f"# B\n\nTwo.\n\n{ONE}"}
    found = diff(skill("# Drink\n", **before), skill("# Drink\n", **after))
    assert "Tea" not in [pair.before.text for pair in found.moved]


def test_a_file_may_be_titled_by_its_first_section():
    before = f"# Drink\n\n## Cups\n\nMany.\n\n{ONE}## Pens\n\nFew.\n\n{TWO}"
    page = f"# Cups\n\n## Cups\n\nMany.\n\n{ONE}## Pens\n\nFew.\n\n{TWO}"
    assert moved(before, "# Drink\n", **{"references/cups.md": page}) == []


BREW = "## Brew\n\nAsk first.\n\nPour it hot.\n\n"
WRITE = "## Write\n\nAsk first.\n\nDip the pen.\n\n"
TEA = f"Configuration for `tea`:\n\n```yaml\nname: tea\n```\n\n{BREW}"


@pytest.mark.parametrize(
    ("page", "expected"),
    [
        (f"# ink\n\n{TEA}# tea\n\n{WRITE}", ["name: tea", "Write"]),
        (f"# ink\n\n{WRITE}# tea\n\n{TEA}", []),
        (f"# tea\n\nAsk first.\n\n{TEA}# ink\n\nAsk first.\n\n{WRITE}", []),
        (f"# ink\n\n# tea\n\n{TEA}# Shared material\n\n{WRITE}", []),
    ],
    ids=["exchanged", "another order", "what both say", "nothing below"],
)
def test_a_skill_stands_below_its_own_name(page, expected):
    source = bundle({"ink/SKILL.md": WRITE, "tea/SKILL.md": f"---\nname: tea\n---\n{BREW}"})
    found = diff(source, bundle({"both/SKILL.md": page}))
    assert [pair.before.text for pair in found.moved] == expected


def test_a_heading_of_an_author_may_have_the_name_of_another_skill():
    notes = "# ink\n\nIt stains a cup.\n"
    source = bundle({"ink/SKILL.md": WRITE, "tea/SKILL.md": notes})
    found = diff(source, bundle({"both/SKILL.md": f"{notes}\n# Pens\n\n{WRITE}"}))
    assert not found.moved
