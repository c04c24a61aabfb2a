"""Which names commands of a text set and use."""

import pytest

from skilljuror.audit.comparison.shell_names import names_set, names_used


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("export KILN=7", {"KILN"}), ("KILN=$(date)", {"KILN"}), ("  $ KILN=7 run", {"KILN"}),
        ("read -r CONE", {"CONE"}), ("for f in *.md", {"f"}), ("a == KILN", set()), ("--kiln=7", set()),
    ],
)  # fmt: skip
def test_names_that_are_set(text: str, names: set[str]) -> None:
    assert names_set(text) == names


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("heat $KILN", {"KILN"}), ("${CONE_2:-7}", {"CONE_2"}), ("\\$KILN costs $KILNS", {"KILNS"}),
        ("$HOME and $1 and $kiln", set()), ("$5 a box", set()), ("{{$KILN}}", {"KILN"}),
    ],
)  # fmt: skip
def test_names_that_are_used(text: str, names: set[str]) -> None:
    assert names_used(text) == names
