"""Figures: what they show, in the picture and in words."""

import re

import duckdb
import pytest

from skilljuror.report.computed import Answers
from skilljuror.report.figures import FIGURES, Drawing, drawings
from skilljuror.store import open_read
from tests.support import fabricated_records as fake
from tests.support import report_piles as piles


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


def texts(svg: str) -> list[str]:
    return re.findall(r"<text [^>]*>([^<]*)</text>", svg)


@pytest.mark.slow
def test_figures_have_their_legend_and_say_that_a_scripted_policy_ran(drawn):
    assert set(drawn) >= {"task_deltas", "timing_bins", "uptake", "skills_opened"}
    assert {"offered or touched", "opened"} <= set(texts(drawn["skills_opened"].svg))
    for drawing in drawn.values():
        assert "no language model ran" in " ".join(texts(drawing.svg))


@pytest.mark.slow
def test_the_alternative_text_tells_the_numbers_of_the_figure(drawn):
    assert drawn["task_deltas"].alt == (
        "Pass rate per task, pd minus baseline: of 4 tasks 1 gained, 3 tied, 0 lost; most for task-1,"
        " +100.0 pp"
    )
    assert "; pd 3 in all, most (1) in column 1 of 20" in drawn["timing_bins"].alt
    assert "observed 100 to 100 % of 3 uses" in drawn["uptake"].alt
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
    fake.count_verdicts(path)
    monkeypatch.setattr("skilljuror.report.figures.MIN_STRATUM", 2)
    with open_read(path) as reader:
        (one,) = drawings(Answers(reader), ["strata"], scripted=True)
    drawn = r'<path d="M ([\d.]+) [\d.]+\s+L ([\d.]+) [\d.]+\s*"[^>]*stroke-opacity: 0.6'
    (left, right), (decided, same) = [
        tuple(map(float, ends)) for ends in re.findall(drawn, one.svg)
    ]
    assert left < right == decided == same
