"""Habits of agents that name no file outright: listings, wrappers, loops, links, fallbacks."""

import pytest

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

READ_TAXES = ("read", "references/taxes.md", "full")
EXEC = ("exec", "scripts/total.py", "none")


def short(command, output="", **more):
    """(kind, resource, exposure) of one command."""
    return [one[:3] for one in observed(command, output, **more)]


def both(command, output):
    """(skill, resource, exposure, lines) of a command over two skills."""
    return [
        (one.skill, one.resource, one.content_exposed, one.lines)
        for one in events_of(ran(command, output), manifest=None)
    ]


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        (f"mise exec -- python3 {BUNDLE}/scripts/total.py", EXEC),
        (f"mise x node@20 -- node {BUNDLE}/scripts/total.js", ("exec", "scripts/total.js", "none")),
        (f"op run --env-file=.env -- python3 {BUNDLE}/scripts/total.py", EXEC),
        (f"flock /tmp/lock python3 {BUNDLE}/scripts/total.py", EXEC),
        (f"flock /tmp/lock -c 'python3 {BUNDLE}/scripts/total.py'", EXEC),
        (f"taskset -c 0 python3 {BUNDLE}/scripts/total.py", EXEC),
        (f"gosu app python3 {BUNDLE}/scripts/total.py", EXEC),
        (f"su - app -c 'python3 {BUNDLE}/scripts/total.py a'", EXEC),
        (f"script -qc 'python3 {BUNDLE}/scripts/total.py' log.txt", EXEC),
        (f"node -e \"require('child_process').execSync('python3 {BUNDLE}/scripts/total.py a')\"", EXEC),
        (f"ruby -e \"system('{BUNDLE}/scripts/total.py a')\"", EXEC),
    ],
)  # fmt: skip
def test_more_ways_to_run_a_script(command, expected):
    assert short(command, "total 7\n") == [expected]


@pytest.mark.parametrize(
    "command",
    [
        "sh -c 'cat \"$0\"' @/taxes.md",
        "bash -c 'cat \"$1\"' _ @/taxes.md",
        "bash -c 'cat \"$@\"' _ @/taxes.md",
        "awk 'FNR==1 {print FILENAME} {print}' @/taxes.md",
        "awk 'FNR==1{print FILENAME}1' @/taxes.md",
        "cat @/absent.md 2>/dev/null || cat @/taxes.md",
    ],
)
def test_more_ways_to_read_a_whole_file(command):
    assert READ_TAXES in short(command.replace("@/", f"{REFERENCES}/"), TAXES)


def test_awk_that_goes_on_to_the_next_line_prints_a_part():
    command = f"awk 'NR>2{{next}} {{print}}' {REFERENCES}/taxes.md"
    assert short(command, "# Taxes\n") == [("read", "references/taxes.md", "partial")]


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("jq . @/assets/a.json 2>/dev/null || python3 -m json.tool @/assets/a.json", ("read", "assets/a.json", "partial")),
        ("cat @/references/taxes.md || sed -n '1,200p' @/references/taxes.md", READ_TAXES),
        ("python @/scripts/total.py || python3 @/scripts/total.py", EXEC),
        ("cp @/assets/a.json out/ 2>/dev/null || cp @/assets/a.json .", ("read", "assets/a.json", "none")),
    ],
)  # fmt: skip
def test_a_second_try_at_the_same_file_is_one_access(command, expected):
    output = TAXES if expected[2] != "none" else ""
    assert short(command.replace("@", BUNDLE), output) == [expected]


def test_names_that_a_listing_prints_are_seen_from_its_folder():
    output = f"--- format.md\n{FORMAT}--- taxes.md\n{TAXES}"
    command = f'for f in $(ls {REFERENCES}); do echo "--- $f"; cat {REFERENCES}/$f; done'
    assert short(command, output) == [("read", "references/format.md", "full"), READ_TAXES]


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
    assert both(command, SKILL) == [("ledger", "SKILL.md", "full", ((1, 10),))]
    (event,) = events_of(ran(command, SKILL))
    assert (event.skill, event.resource, event.witness) == ("ledger", "SKILL.md", "both")


def test_a_second_try_in_other_letters_is_one_access():
    command = f"cat {BUNDLE}/SKILL.md 2>/dev/null || cat {BUNDLE}/skill.md"
    assert short(command, SKILL) == [("read", "SKILL.md", "full")]
