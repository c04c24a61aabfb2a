"""Which paths a command prints for another, as globs, and whether all of them are meant."""

import pytest

from skilljuror.events.shell.produced_paths import listing
from tests.support.attribution_runs import (
    BUNDLE,
    FORMAT,
    REFERENCES,
    ROOT,
    SKILL,
    TAXES,
    events_of,
    observed,
    ran,
)
from tests.support.shell_texts import read_shell


@pytest.mark.parametrize(
    ("command", "globs"),
    [
        ("find a -name x.md", [("a/**/x.md", True)]),
        ("find a", [("a/**", True)]),
        ("find", [("**", True)]),
        ("find a b -name x", [("a/**/x", True), ("b/**/x", True)]),
        ("find a ! -name y -name x", [("a/**/x", False)]),
        ("find a -name x -mtime -2", [("a/**/x", False)]),
        ("find a -maxdepth 2 -name x", [("a/**/x", False)]),
        ("find a -name x -name y", [("a/**/x", False), ("a/**/y", False)]),
        ("grep -rl x a", [("a/**", False)]),
        ("grep -n x a", []),
        ("echo a b", [("a", True), ("b", True)]),
        ("printf '%s' a b", [("a", True), ("b", True)]),
        ("ls", [("*", True)]),
        ("cat a", []),
    ],
)
def test_what_a_command_lists(command, globs):
    (one,) = read_shell(command)
    assert [(word.text, word.known) for word in listing(one)] == globs


def test_names_that_a_listing_prints_are_seen_from_its_folder():
    output = f"--- format.md\n{FORMAT}--- taxes.md\n{TAXES}"
    command = f'for f in $(ls {REFERENCES}); do echo "--- $f"; cat {REFERENCES}/$f; done'
    assert [one[:3] for one in observed(command, output)] == [
        ("read", "references/format.md", "full"),
        ("read", "references/taxes.md", "full"),
    ]


def test_a_sorted_listing_gives_its_files():
    names = f"{BUNDLE}/SKILL.md\n{REFERENCES}/format.md\n{REFERENCES}/taxes.md\n"
    listed = ran(f"find {BUNDLE} -type f", names)
    shown = ran(
        f"cat $(find {BUNDLE} -name '*.md' | sort)", SKILL + FORMAT + TAXES, call_id="c2", line=9
    )  # fmt: skip
    found = [(one.kind, one.resource) for one in events_of(listed, shown, manifest=None)]
    assert sorted(found) == [
        ("list", "."),
        ("read", "SKILL.md"),
        ("read", "references/format.md"),
        ("read", "references/taxes.md"),
    ]


def test_of_a_listing_that_is_searched_only_what_is_shown_counts():
    command = f'cat "$(find {ROOT} -name SKILL.md | grep ledger)"'
    (found,) = events_of(ran(command, SKILL), manifest=None)
    assert (found.skill, found.resource) == ("ledger", "SKILL.md")
    assert (found.content_exposed, found.lines) == ("full", ((1, 10),))
    (event,) = events_of(ran(command, SKILL))
    assert (event.skill, event.resource, event.witness) == ("ledger", "SKILL.md", "both")
