"""Programs and shells that complain instead of printing a file."""

from tests.support.attribution_runs import (
    BUNDLE,
    observed,
)


def test_a_program_that_only_complains_shows_nothing():
    complaint = "sed: -e expression #1, char 3: unknown command: `x'\n"
    assert observed(f"sed -n 1,5x {BUNDLE}/SKILL.md", complaint, exit_code=1)[0][2] == "none"
