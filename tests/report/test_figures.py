"""Figures for wide and narrow screens: on a phone nothing of a picture lies outside of its width."""

import re

import duckdb
import pytest

from skilljuror.report.computed import Answers
from skilljuror.report.figures import FIGURES, NARROW, Drawing, drawings
from skilljuror.report.page import build_report
from skilljuror.store import open_read
from tests.support import report_piles as piles

PHONE = 390 - 2 * 13 - 2 * 14
"""Pixels inside a card of the page on a screen of 390."""


@pytest.fixture(scope="module")
def drawn(tmp_path_factory):
    """Every figure, of a scripted study or of logs."""
    found: dict[str, Drawing] = {}
    for make in (piles.scripted_study, piles.observed_logs):
        with open_read(make(tmp_path_factory.mktemp("pile"))) as reader:
            found |= {
                one.name: one for one in drawings(Answers(reader), list(FIGURES), scripted=True)
            }
    return found


def width_of(svg: str) -> float:
    found = re.search(r'viewBox="0 0 ([\d.]+) ', svg)
    assert found
    return float(found[1])


def texts(svg: str) -> list[str]:
    return re.findall(r"<text [^>]*>([^<]*)</text>", svg)


def test_a_picture_for_a_phone_is_as_wide_as_a_phone(drawn):
    assert set(drawn) >= {"task_deltas", "timing_bins", "skills_opened", "skill_timing"}
    for one in drawn.values():
        assert width_of(one.narrow) == pytest.approx(72 * NARROW)
        assert width_of(one.narrow) <= 1.02 * PHONE  # letters are as large as in the text around it


def test_it_shows_the_winning_bars_and_the_legend(drawn):
    bars = drawn["task_deltas"]
    assert (
        len(re.findall("fill: #2f7fd1", bars.narrow))
        == len(re.findall("fill: #2f7fd1", bars.svg))
        > 0
    )
    assert {"offered or touched", "opened"} <= set(texts(drawn["skills_opened"].narrow))


def test_it_says_as_the_wide_one_that_a_scripted_policy_ran(drawn):
    for one in drawn.values():
        assert "no language model ran" in " ".join(texts(one.narrow))


def test_the_alternative_text_tells_the_numbers_of_the_figure(drawn):
    assert drawn["task_deltas"].alt == (
        "Pass rate per task, pd minus baseline: of 4 tasks 1 gained, 3 tied, 0 lost; most for task-1,"
        " +100.0 pp"
    )
    assert "; pd 3 in all, most (1) in column 1 of 20" in drawn["timing_bins"].alt
    assert "pdf-tools opened in 1 of 2 runs" in drawn["skills_opened"].alt
    assert all(one.alt.startswith(f"{one.title}: ") for one in drawn.values())


def test_kinds_of_too_few_tasks_are_not_drawn(tmp_path, monkeypatch):
    """Two tasks of each kind: no interval; with a limit of two both kinds are drawn."""
    path = piles.scripted_study(tmp_path)
    with open_read(path) as reader:
        assert drawings(Answers(reader), ["strata"], scripted=True) == []
        monkeypatch.setattr("skilljuror.report.figures.MIN_STRATUM", 2)
        (one,) = drawings(Answers(reader), ["strata"], scripted=True)
    assert "a (2 tasks) uptake +2.00 to +2.00, passes 0.0 pp" in one.alt
    assert "Left out" not in one.read


def test_kinds_of_task_with_open_uses_are_drawn_from_end_to_end(tmp_path, monkeypatch):
    """pd has 3 yes, baseline 1. Where those of pd are open, the change is -1 to 2, else 2."""
    path = piles.scripted_study(tmp_path)
    with duckdb.connect(str(path)) as database:
        database.execute(
            "UPDATE verdicts SET label = 'unknown', category = 'insufficient_context' WHERE event IN"
            " (SELECT event FROM uses WHERE run IN ('task-0__pd__1', 'task-2__pd__1'))"
        )
    monkeypatch.setattr("skilljuror.report.figures.MIN_STRATUM", 2)
    with open_read(path) as reader:
        (one,) = drawings(Answers(reader), ["strata"], scripted=True)
    drawn = r'<path d="M ([\d.]+) [\d.]+\s+L ([\d.]+) [\d.]+\s*"[^>]*stroke-opacity: 0.6'
    (left, right), (decided, same) = [
        tuple(map(float, ends)) for ends in re.findall(drawn, one.svg)
    ]
    assert left < right == decided == same


def test_the_page_shows_one_of_the_two(tmp_path):
    page = build_report(piles.scripted_study(tmp_path), tmp_path / "report").path.read_text("utf-8")
    style = page[page.index("<style>") : page.index("</style>")]
    phone = style[style.index("@media (max-width: 40rem)") :]
    assert ".narrow { display: none; }" in style[: style.index("@media (max-width: 40rem)")]
    assert ".wide { display: none; }\n  .narrow { display: block; }" in phone
    assert page.count('class="drawing narrow"') == page.count('<div class="scroll wide">') > 0
