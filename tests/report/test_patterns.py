"""Every translation pattern, and what is none."""

import pytest

from skilljuror.report.computed import documentation, interactions, patterns
from skilljuror.store.connect import QueryResult
from skilljuror.store.questions import query

FIRM = {
    "attribute": "domain", "value": "security", "judge": "trace/1", "tasks": 16, "delta_pass": 0.2,
    "sd_pass": 0.2, "delta_runtime": 0.0, "sd_runtime": 0.2, "tasks_given": 16, "delta_given": 0.0, "sd_given": 0.2, "delta_yes_low": 1.0, "delta_yes_high": 2.0,
    "delta_fanout": 1.0, "treatment_minutes_per_pass": 9.0, "control_minutes_per_pass": 10.0, "not_usable": None,
}  # fmt: skip
SLOWER = {"treatment_minutes_per_pass": 11.0}


def rows_of(table, answer):
    """Rows of a computed table, by column, from an answer to `strata`."""
    columns = documentation(table.__name__).columns[:-1]
    return [dict(zip(columns, row, strict=True)) for row in table(lambda name: answer)]


@pytest.mark.parametrize(
    ("changes", "pattern", "reason"),
    [
        ({}, "targeted efficiency", None),
        (SLOWER, None, "undetermined"),
        ({"delta_yes_low": -0.1}, None, "undetermined"),
        ({"delta_yes_low": None, "delta_yes_high": None}, None, "undetermined"),
        ({"sd_pass": 0.4}, None, "undetermined"),  # 0.2 ± 2.13 · 0.4 / 4
        ({"sd_pass": 0.0}, None, "undetermined"),
        ({"tasks": 7}, None, "fewer than 8 tasks"),
        ({"delta_pass": -0.2}, "uptake without success", None),
        ({"delta_pass": -0.2, **SLOWER}, "fanout tax", None),
        ({"delta_pass": -0.2, "delta_fanout": -1.0, **SLOWER}, "uptake without success", None),
        ({"delta_pass": -0.2, "delta_yes_low": -1.0}, None, "undetermined"),
        ({"sd_pass": 0.4, "delta_runtime": 0.2, "delta_given": -0.2}, "completion with risk", None),
        ({"sd_pass": 0.4, "delta_runtime": 0.2}, None, "undetermined"),
        (  # passes and runtime success rose in all tasks, whose controls all failed
            {
                "delta_pass": 1.0,
                "sd_pass": 0.0,
                "delta_runtime": 0.2,
                "tasks_given": 0,
                "delta_given": None,
                "sd_given": None,
            },
            None,
            "undetermined",
        ),
        (  # too few tasks had a runtime success in both arms
            {"sd_pass": 0.4, "delta_runtime": 0.2, "tasks_given": 7, "delta_given": -0.2},
            None,
            "undetermined",
        ),
        ({"treatment_minutes_per_pass": 10.0}, None, "undetermined"),
        ({"delta_runtime": 0.2}, "targeted efficiency", None),
    ],
)
def test_a_pattern_needs_its_signals(changes, pattern, reason):
    row = FIRM | changes
    answer = QueryResult(tuple(row), [tuple(row.values())])
    (found,) = rows_of(patterns, answer)
    assert (found["pattern"], found["pattern_reason"]) == (pattern, reason)


def test_a_pattern_of_several_kinds_needs_more():
    """0.2 ± 2.131 · 0.35 / 4 excludes 0 for one kind; of three, at 98.3 %, 0.2 ± 2.694 · 0.35 / 4 does not."""
    for kinds, pattern in ((1, "targeted efficiency"), (3, None)):
        rows = [FIRM | {"sd_pass": 0.35, "value": f"kind {n}"} for n in range(kinds)]
        answer = QueryResult(tuple(FIRM), [tuple(row.values()) for row in rows])
        assert {row["pattern"] for row in rows_of(patterns, answer)} == {pattern}


def test_ends_and_ratio_are_told():
    answer = QueryResult(tuple(FIRM), [tuple(FIRM.values())])
    (found,) = rows_of(patterns, answer)
    assert (found["delta_low"], found["delta_high"]) == pytest.approx(
        (0.2 - 0.10657, 0.2 + 0.10657), abs=1e-5
    )
    assert found["minutes_per_pass_ratio"] == pytest.approx(0.9)


def test_kinds_of_task_differ_or_not():
    """Two judges give every stratum twice; domain has two values, workflow one."""
    rows = [
        FIRM | {"judge": judge, "attribute": attribute, "value": value, "delta_pass": delta}
        for judge in ("a", "b")
        for attribute, value, delta in (
            ("domain", "x", 0.2),
            ("domain", "y", 0.0),
            ("workflow", "z", 0.1),
        )
    ]
    answer = QueryResult(tuple(FIRM), [tuple(row.values()) for row in rows])
    domain, workflow = rows_of(interactions, answer)
    assert (domain["values"], domain["tasks"]) == (2, 32)
    assert domain["f"] == pytest.approx(
        32 * 0.1**2 / 0.2**2
    )  # 16 · 0.1² · 2 over one degree of freedom
    assert domain["p"] == domain["p_holm"] < 0.05
    assert (workflow["p"], workflow["p_reason"][:13]) == (None, "no two values")


def test_open_or_contaminated_trials_show_no_pattern():
    """An outage would look like failures of the arm that it hit."""
    mark = "3 of 8 trials of pd usable (5 missing)"
    row = FIRM | dict.fromkeys(query("strata").whole) | {"not_usable": mark}
    answer = QueryResult(tuple(row), [tuple(row.values())])
    (found,) = rows_of(patterns, answer)
    assert (found["pattern"], found["delta_pass"], found["delta_low"]) == (None, None, None)
    assert found["minutes_per_pass_ratio"] is None
    assert found["pattern_reason"] == mark
    assert found["delta_fanout"] == FIRM["delta_fanout"]
    (kind,) = rows_of(interactions, answer)
    assert (kind["p"], kind["p_holm"], kind["p_reason"]) == (None, None, mark)
