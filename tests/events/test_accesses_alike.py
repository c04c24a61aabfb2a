"""Accesses are recorded alike, whatever becomes of their output."""

import pytest

from tests.support.attribution_runs import BUNDLE, events_of, observed_events, ran

ROOT = BUNDLE.rpartition("/")[0]


@pytest.mark.parametrize(
    ("command", "output", "kind", "ok"),
    [
        (f"cat {BUNDLE}/SKILL.md > out.txt", "", "read", True),
        (f"grep -n tax {BUNDLE}/SKILL.md > out.txt", "", "search", True),
        (f"grep -n tax {BUNDLE}/SKILL.md | wc -l", "3", "search", True),
        (f"ls -R {ROOT}", f"{ROOT}:\nledger\n\n{BUNDLE}:\nSKILL.md\n", "list", True),
    ],
    ids=["cat to a file", "grep to a file", "grep counted", "recursive listing"],
)
def test_an_access_whose_text_the_agent_does_not_see(command, output, kind, ok):
    (event,) = events_of(ran(command, output))
    assert (event.kind, event.content_exposed, event.ok) == (kind, "none", ok)


def test_a_search_of_a_folder_names_the_files_that_it_printed_and_no_others():
    found = f"{BUNDLE}/SKILL.md:1:tax"
    assert [event.resource for event in events_of(ran(f"grep -rn tax {BUNDLE}", found))] == [
        "SKILL.md"
    ]
    assert events_of(ran(f"grep -rn tax {BUNDLE} > out.txt")) == []


def test_a_recursive_listing_lists_each_skill_also_where_the_log_alone_tells_of_them():
    output = f"{ROOT}:\nledger\nother\n\n{BUNDLE}:\nSKILL.md\n\n{ROOT}/other:\nSKILL.md\n"
    for command in (f"ls -R {ROOT}", f"ls -lR {ROOT}/"):
        found = [(one.skill, one.kind) for one in observed_events(ran(command, output))]
        assert found == [("ledger", "list"), ("other", "list")]


def test_a_plain_listing_of_the_folder_of_skills_is_none():
    assert events_of(ran(f"ls {ROOT}", "ledger\nother")) == []
