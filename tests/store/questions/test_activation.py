"""Trigger queries: which were answered with the Skill, counted by hand, and the attributes of such a task."""

import json
from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any

import pytest

from skilljuror.base.errors import StudyError
from skilljuror.base.results import OfferedRow
from skilljuror.base.study import TaskEntry, TaskTrigger
from skilljuror.base.trajectory import UnknownTool
from skilljuror.harness.tasks import task_attributes
from skilljuror.measures.rates import wilson_interval
from skilljuror.store import open_write
from skilljuror.store.questions import NOT_USABLE, run
from tests.support import fabricated_records as fake

SKILLS = ("csv-report", "unused")
COUNTS = ("trials", "unknown", "hits", "misses", "false_alarms", "quiet")


def study(
    folder: Any,
    queries: Mapping[str, tuple[bool, str]],
    opened: Mapping[str, Sequence[str]],
    *,
    trials: int = 1,
    unread: Sequence[str] = (),
    unscored: Sequence[str] = (),
    puzzling: Mapping[str, Sequence[str]] = {},
) -> Any:
    """A study of no-skill and pd, which offers two Skills; `opened` has the Skills that a trial read, `puzzling`
    those whose files a tool of an unknown name was given."""
    path = folder / "study.duckdb"
    asked = {
        task: TaskTrigger(should_trigger=yes, skill=skill).attributes
        for task, (yes, skill) in queries.items()
    }
    with open_write(path) as store:
        store.put_plan(fake.plan(asked, ("no-skill", "pd"), trials=trials))
        for task, arm, number in product(queries, ("no-skill", "pd"), range(1, trials + 1)):
            name = fake.name_of(task, arm, number)
            reason = None if name in unscored else "no_verifier"
            end = {"status": "unscored", "reward": None, "reason": reason}
            store.put("trials", [fake.trial(task, arm, number, **end)])
            events = [fake.event(name, n, skill=one) for n, one in enumerate(opened.get(name, ()))]
            offered = [OfferedRow(name, one, False) for one in SKILLS if arm == "pd"]
            log = fake.replaced(
                fake.run(name, trial=name, events=events),
                offered=tuple(offered),
                unknown_tools=(UnknownTool(name, "Peek", 1, tuple(puzzling.get(name, ()))),),
            )
            if name not in unread:
                fake.put(store, [log])
    return path


QUERIES = {"q1": (True, "csv-report"), "q2": (True, "csv-report"), "q3": (False, "csv-report")}


def ends(part: int, whole: int) -> tuple[float, float]:
    found = wilson_interval(part, whole)
    assert found is not None
    return found.low, found.high


def test_hits_misses_and_false_alarms_give_the_rates_of_an_arm(tmp_path):
    found = {"q1__pd__1": ["csv-report"], "q2__pd__1": ["charts"], "q3__pd__1": ["csv-report"]}
    bare, pd = run(study(tmp_path, QUERIES, found), "activation").records()
    assert tuple(pd[name] for name in COUNTS) == (3, 0, 1, 1, 1, 0)
    assert (pd["precision"], pd["recall"], pd["f1"]) == (0.5, 0.5, 0.5)
    for rate in ("precision", "recall"):
        assert (pd[f"{rate}_low"], pd[f"{rate}_high"]) == pytest.approx(ends(1, 2))
    assert [pd["f1_low"], pd["f1_high"]] == pytest.approx([2 * j / (1 + j) for j in ends(1, 3)])
    assert (pd["offered"], pd["misrouted"], pd["instead"], pd["reason"]) == (
        True,
        1,
        "charts 1",
        None,
    )
    assert tuple(bare[name] for name in COUNTS) == (3, 0, 0, 2, 0, 1)
    assert (bare["offered"], bare["precision"], bare["recall"], bare["recall_high"]) == (
        False,
        None,
        0,
        None,
    )
    assert bare["reason"] == "no-skill offers no Skill, so it is never opened"


def test_unknown_is_not_quiet(tmp_path):
    """A tool of an unknown name, a log that nobody can read, and a trial without a final outcome."""
    path = study(
        tmp_path, QUERIES, {"q2__pd__1": ["csv-report"]},
        puzzling={"q1__pd__1": ["csv-report"]}, unscored=["q2__pd__1"], unread=["q3__pd__1"],
    )  # fmt: skip
    pd = run(path, "activation").records()[1]
    assert tuple(pd[name] for name in COUNTS) == (3, 3, 0, 0, 0, 0)
    assert {pd[name] for name in ("precision", "recall", "f1", "recall_low")} == {None}
    assert pd["reason"] == "no trial shows whether it was opened"
    assert pd[NOT_USABLE] == "2 of 3 trials of pd usable (1 unscored)"


@pytest.mark.slow
def test_repeated_trials_of_a_query_do_not_narrow_the_interval(tmp_path):
    found = {f"{task}__pd__{n}": ["csv-report"] for task in ("q1", "q3") for n in range(1, 6)}
    pd = run(study(tmp_path, QUERIES, found, trials=5), "activation").records()[1]
    assert (pd["hits"], pd["misses"], pd["recall"]) == (5, 5, 0.5)
    assert (pd["recall_low"], pd["recall_high"]) == pytest.approx(ends(1, 2))


def test_several_skills_have_a_row_each_and_one_together(tmp_path):
    queries = {"q1": (True, "csv-report"), "q2": (True, "Charts"), "q3": (False, "charts")}
    found = {"q1__pd__1": ["csv-report"], "q2__pd__1": ["csv-report"], "q3__pd__1": []}
    answers = run(study(tmp_path, queries, found), "activation").records()
    pd = {row["skill"]: row for row in answers if row["condition"] == "pd"}
    assert [pd["csv-report"][name] for name in COUNTS] == [1, 0, 1, 0, 0, 0]
    assert [pd["Charts"][name] for name in COUNTS] == [1, 0, 0, 1, 0, 0]
    assert [pd[None][name] for name in (*COUNTS, "recall", "instead")] == [
        3,
        0,
        1,
        1,
        0,
        1,
        0.5,
        "csv-report 1",
    ]


def test_an_arm_without_the_skill_names_those_that_it_offers(tmp_path):
    path = study(tmp_path, {"q1": (True, "maps")}, {"q1__pd__1": ["csv-report"]})
    with open_write(path) as store:
        store.put_builds([fake.build("q1")])
    pd = run(path, "activation").records()[1]
    assert [pd[name] for name in (*COUNTS, "offered", "recall_low")] == [
        1,
        0,
        0,
        1,
        0,
        0,
        False,
        None,
    ]
    assert (pd["reason"], pd["instead"]) == (
        "pd offers csv-report only, so it is never opened",
        "csv-report 1",
    )


def test_a_trigger_file_becomes_attributes_of_its_task(tmp_path):
    folder = tmp_path / "q1"
    for name in ("environment", "tests"):
        (folder / name).mkdir(parents=True)
    (folder / "task.toml").write_text('[metadata]\ncategory = "data"\n')
    (folder / "instruction.md").write_text("Make a report of sales.csv.\n")
    (folder / "tests" / "test.sh").write_text("true\n")
    trigger = folder / "tests" / "trigger.json"
    trigger.write_text(json.dumps({"should_trigger": False, "skill": "csv-report"}))
    found = {"category": "data", "should_trigger": "false", "trigger_skill": "csv-report"}
    assert task_attributes(TaskEntry(path="q1"), tmp_path) == ("q1", found)
    trigger.write_text(json.dumps({"should_trigger": "yes", "skill": "csv-report"}))
    with pytest.raises(StudyError, match=r"trigger\.json.*should_trigger"):
        task_attributes(TaskEntry(path="q1"), tmp_path)
