"""Inputs that once took a reader minutes, or broke it: bounded by design, and told where they are cut."""

import json

import pytest

from skilljuror.base import workers
from skilljuror.base.workers import WorkBudgetExceeded
from skilljuror.events.attribute import attribute
from skilljuror.judge.signals import load_rubric
from skilljuror.judge.tracing import TracingJudge
from skilljuror.logs.discovery import discover
from skilljuror.store import logs
from skilljuror.store import rows as store_rows
from skilljuror.store.records import MeasureOptions
from tests.support.atif_documents import agent_step, document, tool_call
from tests.support.attribution_runs import BUNDLE, ran, run_of
from tests.support.counted_work import lines_run
from tests.support.growing_inputs import line


def test_a_shell_text_of_which_the_end_is_not_read_says_so():
    """An open quote: nobody knows what follows; what precedes is read."""
    command = f"cat {BUNDLE}/SKILL.md; cat {BUNDLE}/notes.md"
    told = (
        "at 2: the shell command is not understood to its end; what follows is left to its output"
    )
    for text, expected in ((command, ()), (f"{command} 'it", (told,))):
        found = attribute(run_of(ran(text, "x")), None)
        assert found.warnings == expected
        assert found.events[0].resource == "SKILL.md"


def test_an_id_that_all_calls_share_tells_no_event_from_another():
    run = run_of(*(ran(f"cat {BUNDLE}/r/{i}.md", line(i), line=10 * i + 2) for i in range(60)))
    events = attribute(run, None).events
    assert len(events) == 60
    load_rubric()
    judged = lines_run(lambda: list(TracingJudge().judge("t", run, events, None)))
    assert judged < 200_000


def loop_for_ever():
    while True:
        pass


def test_work_ends_at_the_wall(monkeypatch):
    monkeypatch.setattr(workers, "LEAST_SECONDS", 0.1)
    with pytest.raises(WorkBudgetExceeded, match="seconds"), workers.work_budget(0):
        loop_for_ever()
    assert [*range(3)] == [0, 1, 2]  # the timer is off again


def test_a_log_that_takes_too_long_is_an_error_row_and_the_rest_goes_on(tmp_path, monkeypatch):
    for name in ("bad", "good"):
        (tmp_path / name).mkdir()
        given = document(agent_step("", tool_call("c", f"cat {name}")), session_id=name)
        (tmp_path / name / "trajectory.json").write_text(json.dumps(given), encoding="utf-8")

    def slow(run, manifest):
        return loop_for_ever() if run.trajectory == "bad" else attribute(run, manifest)

    monkeypatch.setattr(workers, "LEAST_SECONDS", 0.2)
    monkeypatch.setattr(store_rows, "attribute", slow)
    monkeypatch.setattr(logs, "attribute", slow)
    groups = tuple(logs.group_captures(discover([tmp_path])))
    rows = {
        row.path.split("/")[-2]: row
        for read in logs.read_portion(groups, MeasureOptions())
        for row in read.sources
    }
    assert (rows["good"].status, rows["bad"].status) == ("parsed", "error")
    assert "seconds" in (rows["bad"].reason or "")
    told = {one.source.split("/")[-2]: one.problem for one in logs.events_of([tmp_path])}
    assert "seconds" in (told["bad"] or "")
    assert not told["good"]
