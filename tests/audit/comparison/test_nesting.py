"""Items and headings below another one: drift of nesting, and layouts that keep it."""

import re

import pytest

from skilljuror.audit.comparison.diff import diff
from tests.support.knowledge_bundles import skill

TREE = "# Desk\n\n## Open\n\nOil the lock.\n\n### Door\n\nPull it.\n\n## Close\n\nCount the keys.\n"


def nested(before, after, more=None, **files):
    found = diff(skill(before, **(more or {})), skill(after, **files))
    return [pair.before.text for pair in found.altered if pair.change == "nesting"]


@pytest.mark.parametrize(
    ("before", "after", "found"),
    [
        ("- Fill it\n- Sign it\n", "- Fill it\n  - Sign it\n", "Sign it"),
        ("1. Fill it\n2. Sign it\n", "1. Fill it\n   1. Sign it\n", "Sign it"),
        ("- Fill it\n  - Sign it\n- Send it\n", "- Fill it\n- Sign it\n- Send it\n", "Sign it"),
        ("- Fill it\n- Sign it\n  - Twice\n", "- Fill it\n  - Twice\n- Sign it\n", "Twice"),
        (TREE, TREE.replace("## Close", "#### Close"), "Close"),
        (TREE, TREE.replace("### Door", "##### Door"), "Door"),
        (TREE, TREE.replace("## Open", "#### Open"), "Open"),
        ("## Open\n\nOil it.\n\n## Close\n\nCount.\n", "## Open\n\nOil it.\n\n# Close\n\nCount.\n", "Close"),
    ],
    ids=["item", "step", "lifted", "other item", "section", "inner section", "first section", "no title"],
)  # fmt: skip
def test_another_place_in_the_outline(before, after, found):
    assert found in nested(before, after)
    assert nested(before, before) == []


def test_a_page_written_into_another_one_keeps_its_outline():
    carried = "\n## Reference content from `more.md`\n\n" + re.sub("^#", "###", TREE, flags=re.M)
    assert nested("# Top\n\nSee.\n", f"# Top\n\nSee.\n{carried}", {"more.md": TREE}) == []


def test_a_section_that_becomes_a_page_keeps_its_outline():
    root = TREE.partition("## Open")[0] + "Read open.md to open.\n\n## Close\n\nCount the keys.\n"
    page = "# Open\n\nOil the lock.\n\n## Door\n\nPull it.\n"
    assert nested(TREE, root, **{"open.md": page}) == []


def test_a_table_of_contents_is_no_level_of_the_outline():
    tree = TREE.replace("## Open", "#### Open").partition("## Close")[0]
    listed = tree.replace("# Desk\n", "# Desk\n\n## Contents\n\n- Open\n- Door\n", 1)
    assert nested(tree, listed) == []


def test_an_item_whose_list_got_another_form_is_not_nested():
    before, after = "- Fill it\n  - Twice\n", "## Fill it\n\n- Twice\n"
    assert nested(before, after) == []


def test_equal_items_are_interchangeable():
    one, two = "- Tea\n  - Hot\n", "- Ink\n  - Hot\n"
    assert nested(f"{one}{two}", f"{two}{one}") == []


def test_a_copy_of_the_page_in_a_file_it_carries_is_another_outline():
    carried = "\n## Reference content from `more.md`\n\n" + re.sub("^#", "###", TREE, flags=re.M)
    flat, page = f"{TREE}{carried}", "# Open\n\nOil the lock.\n\n## Door\n\nPull it.\n"
    root = TREE.replace(
        "## Open\n\nOil the lock.\n\n### Door\n\nPull it.\n\n", "Read open.md to open.\n\n"
    )
    assert nested(flat, root, **{"more.md": TREE, "open.md": page}) == []
