"""Who saw what when: units and resources of several runs side by side."""

import pytest

from skilljuror.report.trajectory import (
    RunDetails,
    UnitSight,
    look_up,
    resource_rows,
    unit_rows,
)
from tests.support import fabricated_records as fake
from tests.support.cli_process import call
from tests.support.places import EXAMPLES

TEXTS = {"u1": "Steep for 3 minutes.", "u2": "Warm the pot.", "u3": "Water at 80 degrees."}


def details(name, steps, events=(), verdicts=(), task="brew"):
    """A trial that met the units in these steps; a unit without one was not shown."""
    units = tuple(
        UnitSight(unit, text, "main" if unit in steps else "", steps.get(unit))
        for unit, text in TEXTS.items()
    )
    record = fake.trial(task, "pd")
    return RunDetails(name, record, None, tuple(events), tuple(verdicts), units=units if steps else ())  # fmt: skip


def anchors(count):
    return [{("main", step): f"r{run}-{step}" for step in range(9)} for run in range(count)]


def cells(rows):
    return [(texts[0], [[words for words, _ in cell] for cell in of_run]) for texts, of_run in rows]


def test_units_that_were_seen_alike_are_one_row_in_the_order_of_sight():
    runs = [details("a", {"u1": 1, "u2": 1, "u3": 4}), details("b", {"u3": 2})]
    rows = unit_rows(runs, anchors(2))
    assert cells(rows) == [
        (TEXTS["u1"], [["seen 1"], []]), (TEXTS["u3"], [["seen 4"], ["seen 2"]]),
    ]  # fmt: skip
    assert rows[0][0] == [TEXTS["u1"], TEXTS["u2"]]
    assert rows[1][1][1] == (("seen 2", "r1-2"),)


def test_a_run_that_was_not_offered_a_unit_says_so_and_one_that_did_not_look_has_a_dash():
    rows = unit_rows([details("a", {"u1": 1}), details("none", {})], anchors(2))
    assert cells(rows)[0] == (TEXTS["u1"], [["seen 1"], ["not offered"]])
    assert cells(rows)[1] == (TEXTS["u2"], [[], ["not offered"]])


def test_runs_of_several_tasks_share_no_units():
    runs = [details("a", {"u1": 1}), details("b", {"u1": 1}, task="bake")]
    assert unit_rows(runs, anchors(2)) == []


def test_resources_that_more_runs_opened_come_first_with_the_first_step_of_each():
    def seen(run, number, resource, step, **more):
        return fake.event(run, number, resource=resource, step=step, **more)

    a = [
        seen("a", 0, "b.md", 1),
        seen("a", 1, "SKILL.md", 3),
        seen("a", 2, "SKILL.md", 2, ok=False),
    ]
    b = [seen("b", 0, "SKILL.md", 2), seen("b", 1, "no.md", 4, phantom=True)]
    verdicts = [fake.verdict(a[1], action_step=6), fake.verdict(b[0], "no", action_step=7)]
    runs = [details("a", {}, a, verdicts[:1]), details("b", {}, b, verdicts[1:])]
    assert cells(resource_rows(runs, anchors(2))) == [
        ("csv-report/SKILL.md", [["step 3", "used 6"], ["step 2"]]),
        ("csv-report/b.md", [["step 1"], []]),
    ]


STUDY = f"""
name: small
trials_per_cell: 1
tasks:
  - path: {EXAMPLES}/tasks/redact-lines
    skills: {EXAMPLES}/skills/log-triage
conditions: [{{name: bare}}, {{name: flat, variant: flat-files}}, {{name: pd, variant: pd}}]
vary: [skill]
contrast: {{treatment: pd, control: flat}}
harness: {{options: {{isolation: none}}}}
"""


@pytest.mark.slow
def test_runs_of_two_layouts_meet_in_the_units_that_both_saw(tmp_path):
    """Scripted agents; the units are the same in both, whatever file they lie in."""
    (tmp_path / "study.yaml").write_text(STUDY)
    assert call("run", "study.yaml", "--out", "s", cwd=tmp_path).returncode == 0
    assert call("ingest", "--study", "s", cwd=tmp_path).returncode == 0
    names = [f"redact-lines__{arm}__1" for arm in ("pd", "flat", "bare")]
    runs = [look_up(tmp_path / "s", name) for name in names]
    by_run = [{one.unit: one.step for one in run.units} for run in runs]
    assert by_run[0].keys() == by_run[1].keys()
    assert by_run[2] == {}
    rows = unit_rows(runs, anchors(3))
    assert sum(len(texts) for texts, _ in rows) == len(by_run[0])
    both = [of_run for _, of_run in rows if of_run[0] and of_run[1]]
    assert both
    assert all(of_run[2] == (("not offered", ""),) for _, of_run in rows)
    assert call("show", "s", *names, "--html", "page.html", cwd=tmp_path).returncode == 0
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "<b>Knowledge units</b>" in page
    assert f">{both[0][0][0][0]}</a>" in page
