"""Accesses are recorded alike, whatever becomes of their output."""

from tests.support.attribution_runs import BUNDLE, events_of, ran

ROOT = BUNDLE.rpartition("/")[0]


def test_a_search_of_a_folder_names_the_files_that_it_printed_and_no_others():
    found = f"{BUNDLE}/SKILL.md:1:tax"
    assert [event.resource for event in events_of(ran(f"grep -rn tax {BUNDLE}", found))] == [
        "SKILL.md"
    ]
    assert events_of(ran(f"grep -rn tax {BUNDLE} > out.txt")) == []


def test_a_plain_listing_of_the_folder_of_skills_is_none():
    assert events_of(ran(f"ls {ROOT}", "ledger\nother")) == []
