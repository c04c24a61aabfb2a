"""Commands that run commands: which program really runs, and on which files."""

import pytest

from tests.support.attribution_runs import BUNDLE, REFERENCES, TAXES, observed

READ_TAXES = ("read", "references/taxes.md", "full")
EXEC = ("exec", "scripts/total.py", "none")


def short(command, output="", **more):
    """(kind, resource, exposure) of one command."""
    return [one[:3] for one in observed(command, output, **more)]


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        (f"mise exec -- python3 {BUNDLE}/scripts/total.py", EXEC),
        (f"mise x node@20 -- node {BUNDLE}/scripts/total.js", ("exec", "scripts/total.js", "none")),
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
    ],
)
def test_more_ways_to_read_a_whole_file(command):
    assert READ_TAXES in short(command.replace("@/", f"{REFERENCES}/"), TAXES)
