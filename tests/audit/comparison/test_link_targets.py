"""Links and mentions that lead elsewhere, though every word around them stayed."""

import pytest

from skilljuror.audit.audit import audit
from skilljuror.audit.comparison.diff import diff
from tests.support.knowledge_bundles import bundle, skill

TWO = "\n\n## One\n\n### Use\n\nTurn left.\n\nWait.\n\n## Two\n\n### Use\n\nTurn right.\n\nWait.\n"
PAGES = {"a.md": "# First\n\nSay a.\n", "b.md": "# Second\n\nSay b.\n"}
TWINS = {"d1/api.md": "# D1\n\nSay d1.\n", "kv/api.md": "# KV\n\nSay kv.\n"}
TITLES = "\n\n## One\n\nFirst text.\n\n## Two\n\nSecond text.\n"


def changes(before, after, **files):
    found = diff(skill(before, **files), skill(after, **files))
    return [pair.change for pair in found.altered]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("See [guide](a.md) first.\n", "See [guide](b.md) first.\n"),
        ("See [guide](a.md) first.\n", "See [guide] first.\n"),
        ("See [guide] first.\n\n[guide]: a.md\n", "See [guide] first.\n\n[guide]: b.md\n"),
        ("![shape](a.md)\n", "![shape](b.md)\n"),
        (f"See [g](#one).{TITLES}", f"See [g](#two).{TITLES}"),
        (f"See [g](#use).{TWO}", f"See [g](#use-1).{TWO}"),
        ("See [here](a.md), [here](b.md).\n", "See [here](a.md), [here](a.md).\n"),
        ("- [a](a.md#first)\n", "- [a](b.md#second)\n"),
    ],
    ids=[
        "another file",
        "link gone",
        "definition",
        "image",
        "another heading",
        "heading of the same title",
        "one of two",
        "anchor of another file",
    ],
)
def test_a_link_that_leads_elsewhere_is_seen(before: str, after: str) -> None:
    assert changes(before, after, **PAGES) == ["reference"]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("Read `d1/api.md` first.\n", "Read `kv/api.md` first.\n"),
        ("- d1/api.md\n- kv/api.md\n", "- d1/api.md\n- d1/api.md\n"),
        ("Read `d1/api.md` with care.\n", "Read `kv/api.md` with much care.\n"),
        ("See [api](d1/api.md).\n", "See [api](kv/api.md).\n"),
    ],
    ids=["mention", "one of two", "reworded", "link"],
)
def test_files_of_one_name_in_two_folders_are_told_apart(before: str, after: str) -> None:
    assert changes(before, after, **TWINS) == ["reference"]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("- d1/api.md\n- kv/api.md\n", "- kv/api.md\n- d1/api.md\n"),
        ("Read `d1/api.md`.\n", "Read `./d1/api.md`.\n"),
        ("Read `api.md`.\n", "Read `d1/api.md`.\n"),
        ("See [api](d1/api.md).\n", "See [api](./d1/api.md#d1).\n"),
        ("See [gone](none.md).\n", "See [gone](d1/api.md).\n"),
        ("See [gone](#none).\n", "See [gone](d1/api.md#none).\n"),
    ],
    ids=["order", "dot path", "without folder", "link", "link to nothing", "anchor of nothing"],
)
def test_what_names_the_same_file_is_no_change(before: str, after: str) -> None:
    assert changes(before, after, **TWINS) == []


def test_a_folder_that_moves_with_its_files_changes_nothing() -> None:
    text = "Read `{0}d1/api.md`, then see [kv]({0}kv/api.md) and [both]({0}d1/).\n"
    before = skill(text.format(""), **TWINS)
    moved = {f"references/{path}": told for path, told in TWINS.items()}
    assert diff(before, skill(text.format("references/"), **moved)).altered == ()


def test_a_link_to_a_file_may_lead_to_the_section_that_carries_it() -> None:
    before = skill("See [api](d1/api.md#limits).\n", **{"d1/api.md": "# D1\n\nText.\n"})
    flat = (
        "See [api](#reference-content-from-d1apimd).\n\n## Reference content from `d1/api.md`\n\n"
    )
    assert diff(before, skill(f"{flat}### D1\n\nText.\n")).altered == ()


@pytest.mark.parametrize(("anchor", "changed"), [("use-1", 0), ("use", 1)])
def test_a_heading_whose_title_others_have_is_known_by_what_it_says(anchor, changed) -> None:
    """The sections change places, and with them the numbers of their anchors."""
    head, one, two = TWO.partition("## Two")[0], "## One", "## Two"
    first, second = head.partition(one)[2], TWO.partition(two)[2]
    before = skill(f"See [g](#use).\n\n{one}{first}{two}{second}")
    after = skill(f"See [g](#{anchor}).\n\n{two}{second}\n{one}{first}")
    assert [pair.change for pair in diff(before, after).altered] == ["reference"] * changed


@pytest.mark.parametrize(("line", "anchor", "changed"), [
    ("", "use", 0), ("", "use-1", 1), ("Wait less.", "use", 0), ("Wait less.", "use-1", 1),
])  # fmt: skip
def test_headings_that_say_nearly_the_same_are_told_apart_as_long_as_they_stand(
    line, anchor, changed
) -> None:
    text = TWO.replace("Wait.", "Wait.\n\nLook.\n\nGo.")
    after = text.replace("Turn right.", f"Turn right.\n\n{line}")
    found = diff(skill(f"See [g](#use).{text}"), skill(f"See [g](#{anchor}).{after}"))
    assert [pair.change for pair in found.altered] == ["reference"] * changed


@pytest.mark.parametrize(("anchor", "changed"), [("use", 0), ("use-1", 1)])
def test_headings_that_a_fence_carries_have_no_anchors_on_the_page(anchor, changed) -> None:
    pages = {f"{name}.md": f"# {name}\n\n## Use\n\nTurn to {name}.\n" for name in "xyz"}
    before = skill("See [g](y.md#use).\n", **pages)
    marker = "## Reference content from `{}.md`\n\n"
    flat = "".join([
        f"See [g](#{anchor}).\n\n",
        f"{marker.format('x')}````markdown\n{pages['x.md']}````\n\n",
        *(f"{marker.format(n)}### {n}\n\n#### Use\n\nTurn to {n}.\n\n" for n in "yz"),
    ])
    found = diff(before, skill(flat)).altered
    assert [pair.change for pair in found] == ["reference"] * changed


def test_a_contents_list_below_a_heading_hides_nothing() -> None:
    listed = "\n\n## Contents\n\n- [Use](#use)\n"
    after = TWO.replace("### Use", f"### Use{listed}", 1)
    assert diff(skill(f"See [g](#use).{TWO}"), skill(f"See [g](#use).{after}")).altered == ()


def test_a_link_to_a_skill_inside_may_lead_to_the_page_that_it_became() -> None:
    marker = "## Reference content from `docs/in/SKILL.md`\n\n### Inside\n\nText.\n"
    flat = skill(f"See [in](#reference-content-from-docsinskillmd).\n\n{marker}")
    pages = {"references/in.md": "# Inside\n\nText.\n", "more/in.md": "# More\n"}
    found = diff(flat, skill("See [in](references/in.md).\n", **pages))
    assert found.altered == ()


def test_the_gates_tell_of_a_link_that_leads_elsewhere() -> None:
    before, after = (skill(f"See [guide]({path}) first.\n", **PAGES) for path in PAGES)
    judged = audit(before, after, "origin", "rewritten")
    assert "knowledge.reference" in {finding.rule for finding in judged.own}
    assert judged.verdict == "review"


def test_a_name_that_both_sides_hold_never_stands_for_another() -> None:
    """Two helpers of one name change places: the shallower path ends the deeper one."""
    marker = "## Helper implementation for `{}`\n\n```python\nprint({})\n```\n\n"
    before, after = (
        skill(marker.format("util.py", one) + marker.format("lib/util.py", two))
        for one, two in ((1, 2), (2, 1))
    )
    assert [pair.change for pair in diff(before, after).altered] == ["content", "content"]


def test_text_that_moves_below_a_heading_of_the_same_name_in_another_file_has_moved() -> None:
    pages = "# {0}\n\n## Limits\n\n{1}Other {0}.\n"
    before, after = (
        bundle({
            "demo/SKILL.md": "---\nname: demo\n---\nText.\n",
            "demo/d1.md": pages.format("D1", one),
            "demo/kv.md": pages.format("KV", two),
        })
        for one, two in (("Max 5 rows.\n\n", ""), ("", "Max 5 rows.\n\n"))
    )
    assert [pair.before.text for pair in diff(before, after).moved] == ["Max 5 rows."]


@pytest.mark.parametrize(
    ("before", "after", "change"),
    [
        ("| a | b |\n|---|---|\n| 1 | 2 | max 5 |\n", "| a | b |\n|---|---|\n| 1 | 2 | max 9 |\n", "number"),
        ("> | a |\n> |---|\n> | 1 | 5 |\n", "> | a |\n> |---|\n> | 1 | 9 |\n", "number"),
        ('See [g](a.md "never first").\n', 'See [g](a.md "always first").\n', "polarity"),
    ], ids=["cell beyond the columns", "cell in a quote", "title of a link"],
)  # fmt: skip
def test_what_a_page_does_not_show_is_read(before: str, after: str, change: str) -> None:
    assert changes(before, after, **PAGES) == [change]


def test_cells_that_end_a_row_or_stand_in_code_are_no_spare_ones() -> None:
    table = "| a | b |\n|---|---|\n| `x \\| y` | 2 |{}\n"
    assert diff(skill(table.format("")), skill(table.format("  "))).reworded == ()
    assert changes(table.format(""), table.format("  ")) == []


def test_text_that_becomes_a_comment_is_told() -> None:
    found = diff(skill("Keep it.\n\nText.\n"), skill("<!--\nKeep it.\n-->\n\nText.\n"))
    assert [pair.after.text for pair in found.reworded] == ["<!-- Keep it."]


def test_a_marker_is_not_taken_for_a_title() -> None:
    marker = skill("## Reference content from `docs/d1.md`\n\n### D1\n\nText.\n")
    after = skill("Read docs/d1.md.\n", **{"docs/d1.md": "# D1\n\nText.\n\n# docs/d1\n\nMore.\n"})
    assert not [pair for pair in diff(marker, after).altered if pair.before.kind == "heading"]


@pytest.mark.parametrize("folder", ["https://a.example", "../.."])
def test_labels_of_links_out_of_the_bundle_are_exchanged(folder):
    page = "# Links\n\n- [{}]({}/log.md)\n- [{}]({}/plan.md)\n"
    before, after = (
        skill(page.format(one, folder, two, folder))
        for one, two in (("The log", "A plan"), ("A plan", "The log"))
    )
    assert {pair.change for pair in diff(before, after).altered} == {"reference"}
    assert diff(before, before).altered == ()
