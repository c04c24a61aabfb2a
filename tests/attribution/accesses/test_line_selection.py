"""Lines that programs and pipelines ask for."""

import pytest

from skilljuror.attribution.accesses.line_selection import WHOLE_FILE, awk_selection, sed_selection


@pytest.mark.parametrize(
    ("selection", "ranges"),
    [
        (WHOLE_FILE.head(5), ((1, 5),)),
        (WHOLE_FILE.head(5).tail(2), ((4, 5),)),
        (WHOLE_FILE.since(4).head(3), ((4, 6),)),
        (WHOLE_FILE.within(((2, 9),)).within(((3, 4),)), ((4, 5),)),
        (sed_selection("1,220p", silent=True), ((1, 220),)),
        (sed_selection("3p;7,$p", silent=True), ((3, 3), (7, None))),
        (sed_selection("1,4d", silent=False), ((5, None),)),
        (sed_selection("20q", silent=False), ((1, 20),)),
        (awk_selection("NR>3 && NR<8"), ((4, 7),)),
        (awk_selection("NR==5"), ((5, 5),)),
        (awk_selection("FNR==2,FNR==6"), ((2, 6),)),
    ],
)
def test_line_windows(selection, ranges):
    assert (selection.ranges, selection.by_content) == (ranges, False)


@pytest.mark.parametrize("script", ["/a/,/b/p", "/x/d", "$d"])
def test_windows_that_only_the_output_tells(script):
    selection = sed_selection(script, silent=script.endswith("p"))
    assert selection is not None
    assert selection.by_content


@pytest.mark.parametrize(
    "script",
    ["NR>3{exit} {print}", "FNR==1{print FILENAME} {print}", "NR==1{print}1", "/a/", "{print $1}"],
)
def test_awk_of_several_rules_is_told_by_the_output(script):
    assert awk_selection(script).by_content


@pytest.mark.parametrize("script", ["1", "{print}", '{print NR": "$0}', '{printf "%s\\n", $0}'])
def test_awk_that_prints_every_line(script):
    assert awk_selection(script).whole
