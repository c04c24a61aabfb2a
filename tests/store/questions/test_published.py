"""Published arithmetic: the same counts give the same printed figures.

Figures as printed are compared by half a unit in their last place.
"""

import pytest

from skilljuror.judge.study import judge_study
from skilljuror.report.computed import Answers
from skilljuror.report.headline import headline
from skilljuror.report.tables import format_points
from skilljuror.store import open_read
from skilljuror.store.questions import run
from skilljuror.store.trials import ingest_trials
from tests.support import published_answers as published
from tests.support import reference_study
from tests.support.published_figures import half_width


@pytest.fixture(scope="module", params=["rows", pytest.param("artifacts", marks=pytest.mark.slow)])
def study(request, tmp_path_factory):
    """The counts as rows of a database, and as trial artifacts that are ingested and judged."""
    folder = tmp_path_factory.mktemp("published")
    if request.param == "rows":
        return published.study(folder)
    reference_study.write(folder)
    ingest_trials(folder, jobs=2)
    judge_study(folder, jobs=2)
    return folder / "study.duckdb"


def by_condition(study, question, **params):
    rows = run(study, question, **params).records()
    return {row["condition"]: row for row in rows}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("condition", "passes", "percent", "delta"),
    [("no-skill", 119, 29.0, -53), ("baseline", 172, 42.0, None), ("pd", 189, 46.1, 17)],
)
def test_table_3_passes(study, condition, passes, percent, delta):
    row = by_condition(study, "outcomes")[condition]
    assert (row["strict_passes"], row["planned"], row["delta_passes"]) == (passes, 410, delta)
    assert 100 * row["strict_rate"] == pytest.approx(percent, abs=0.05)


@pytest.mark.parametrize(
    ("condition", "attempt", "per_pass", "printed"),
    [
        ("no-skill", 8.64, 29.77, 29.76),
        ("baseline", 8.42, 20.07, 20.07),
        ("pd", 8.19, 17.77, 17.76),
    ],
)
def test_table_4_minutes(study, condition, attempt, per_pass, printed):
    """The printed yield lies in the interval that the rounded attempt mean allows."""
    rows = run(study, "efficiency").records()
    row = next(r for r in rows if (r["condition"], r["resource"]) == (condition, "time"))
    assert row["attempt"] == pytest.approx(attempt)
    assert row["yield"] == pytest.approx(per_pass, abs=0.005)
    reach = 0.005 * row["planned"] / row["passes"] + 0.005
    assert row["yield"] == pytest.approx(printed, abs=reach)


@pytest.mark.parametrize(
    ("condition", "cost", "millions"),
    [("no-skill", 2.05, 0.34), ("baseline", 1.28, 0.22), ("pd", 1.31, 0.21)],
)
def test_table_3_cost_and_tokens_per_pass(study, condition, cost, millions):
    rows = {(r["condition"], r["resource"]): r for r in run(study, "efficiency").records()}
    assert rows[condition, "cost"]["yield"] == pytest.approx(cost, abs=0.005)
    assert rows[condition, "display tokens"]["yield"] / 1e6 == pytest.approx(millions, abs=0.005)


@pytest.mark.parametrize(
    ("condition", "share", "support", "script", "helper"),
    [("baseline", 5.4, 66, 31, 3), ("pd", 10.8, 364, 101, 118)],
)
def test_table_5_counts(study, condition, share, support, script, helper):
    row = by_condition(study, "process")[condition]
    found = (row["support_read_trials"], row["script_trials"], row["helper_trials"])
    assert found == (support, script, helper)
    assert 100 * row["skill_step_share"] == pytest.approx(share, abs=0.05)


@pytest.mark.parametrize(
    ("condition", "events", "rate", "mean_events", "mean_yes", "incidence"),
    [
        ("baseline", 717, 76.0, 1.75, 1.33, (332, 95, 11)),
        ("pd", 1902, 84.6, 4.64, 3.92, (386, 335, 118)),
    ],
)
def test_tables_6_13_and_14(study, condition, events, rate, mean_events, mean_yes, incidence):
    row = by_condition(study, "uptake")[condition]
    assert (row["trajectories"], row["events"]) == (410, events)
    assert tuple(row[f"ge{k}_yes_low"] for k in (1, 2, 5)) == incidence
    for end in ("eru_low", "eru_high"):  # one use of pd is open
        assert 100 * row[end] == pytest.approx(rate, abs=0.05)
    assert row["mean_events"] == pytest.approx(mean_events, abs=0.005)
    assert row["mean_yes_low"] == pytest.approx(mean_yes, abs=0.005)


def test_figure_4_and_the_headline(study):
    with open_read(study) as reader:
        first = headline(Answers(reader))
    assert first.delta
    assert first.delta.z
    assert first.delta.t
    assert first.delta.delta == pytest.approx(100 * 17 / 410)
    assert half_width(first.delta.z) == pytest.approx(6.0, abs=0.05)  # the paper's: a normal one
    low, high = (format_points(end) for end in (first.delta.t.low, first.delta.t.high))
    assert f"(95 % interval {low} to {high}, 82 tasks)" in first.number
    assert first.title.startswith("Inconclusive: ")
    assert run(study, "win_tie_loss").records()[0]["wins"] == 23
    assert ("Tasks", "23 won, 44 tied, 15 lost") in first.facts
