"""Lines that programs and pipelines ask for."""

import pytest

from skilljuror.events.accesses.line_selection import (
    WHOLE_FILE,
    LineSelection,
    sed_selection,
)


@pytest.mark.parametrize(
    ("selection", "ranges"),
    [
        (WHOLE_FILE.narrowed(LineSelection(((2, 9),))), ((2, 9),)),
        (LineSelection(((2, 9),)).narrowed(WHOLE_FILE), ((2, 9),)),
        (sed_selection("1,220p", silent=True), ((1, 220),)),
        (sed_selection("3p;7,$p", silent=True), ((3, 3), (7, None))),
    ],
)
def test_line_windows(selection, ranges):
    assert (selection.ranges, selection.by_content) == (ranges, False)


@pytest.mark.parametrize("script", ["/a/,/b/p", "/x/d", "$d", "1,4d", "20q"])
def test_windows_that_only_the_output_tells(script):
    selection = sed_selection(script, silent=script.endswith("p"))
    assert selection is not None
    assert selection.by_content


def test_a_part_of_a_part_is_told_by_the_output_alone():
    assert LineSelection(((2, 9),)).narrowed(LineSelection(((3, 4),))).by_content
