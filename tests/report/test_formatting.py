"""Numbers as people read them."""

from datetime import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skilljuror.report.figures import LABEL, Paper, dodge_labels
from skilljuror.report.tables import DASH, LONGEST, format_points, format_value, heading_of


@pytest.mark.parametrize(
    ("column", "value", "text"),
    [
        ("strict_rate", 0.461, "46.1 %"),
        ("coverage", 1.0, "100.0 %"),
        ("delta_rate", -0.2, "−20.0 pp"),
        ("delta_pass", 0.0, "0.0 pp"),
        ("delta_passes", 17, "+17"),
        ("delta_passes", -53, "−53"),
        ("delta_yes", 0.5, "+0.50"),
        ("tokens", 98_700, "98,700"),
        ("yield", 29.766, "29.77"),
        ("attempt", 0.0081, "0.0081"),
        ("median_step", 4.5, "4.5"),
        ("root_lines", 172.0, "172"),
        ("strict", True, "yes"),
        ("yield", None, DASH),
        ("started_at", datetime(2026, 1, 2, 3, 4, 5), "2026-01-02 03:04"),
    ],
)
def test_values(column, value, text):
    assert format_value(column, value) == text


@pytest.mark.parametrize(("value", "text"), [(4.146, "+4.1 pp"), (-0.04, "0.0 pp"), (None, DASH)])
def test_points(value, text):
    assert format_points(value) == text


@given(
    st.sampled_from(["strict_rate", "delta_rate", "delta_yes", "yield", "root_lines"]), st.floats()
)
def test_any_number_has_a_text(column, value):
    assert format_value(column, value)
    assert "-" not in format_value(column, value).replace("e-", "")


def test_a_long_text_is_cut_and_says_so():
    assert format_value("quote", "x" * 999) == "x" * LONGEST + " …"


def test_headings_are_words():
    assert (heading_of("strict_rate"), heading_of("eru_rate")) == ("strict rate", "ERU rate")


@given(st.text())
def test_labels_are_one_printable_line(name):
    label = Paper(scripted=False).label(name)
    assert label.isprintable()
    assert len(label) <= LABEL


@given(st.lists(st.tuples(st.floats(-5, 5), st.floats(-50, 50)), min_size=2, max_size=7))
def test_labels_of_one_point_never_share_a_line(places):
    placed = dodge_labels([str(n) for n in range(len(places))], places)
    assert sorted(text for text, _, _ in placed) == [str(n) for n in range(len(places))]
    assert len({(place, shift) for _, place, shift in placed}) == len(placed)
