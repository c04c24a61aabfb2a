"""Tasks without a verifier: a rubric or the use of the Skill judges their trials, and no reward is invented."""

import json
import re

import pytest

from skilljuror.base.errors import StudyError
from skilljuror.base.files import StudyFolder, read_record
from skilljuror.base.study import TrialRecord
from skilljuror.harness.harbor.tasks import prepare_task
from skilljuror.report.build import build_report
from skilljuror.store.ingest.trials import ingest_trials
from skilljuror.store.questions.run import catalog
from skilljuror.store.questions.run import run as ask
from skilljuror.study.check import check_study
from skilljuror.study.faults import without_verifier
from skilljuror.study.run import run_study
from tests.support import fabricated_records as fake
from tests.support.harness_tasks import make_job, make_task
from tests.support.studies import edit_study, make_study

RUBRIC = {"name": "evals", "items": [{"id": "1", "text": "out.txt says done"}]}
OF_GATES = {"gates", "rubric_counts", "variant_sizes", "adjudications"}
"""Questions about variants: gates pass, too."""
QUESTIONS = {query.name: query for query in catalog()}
TRIGGER = {"skill": "brew", "should_trigger": True}


def unverified(folder, kind="rubric", content=RUBRIC):
    """A task folder that `kind` judges."""
    make_task(folder, **{f"tests__{kind}.json": json.dumps(content)})
    (folder / "tests/test.sh").unlink()
    return folder


@pytest.fixture
def study(tmp_path):
    """A study of three tasks: verified, judged by a rubric, and by a trigger."""
    study = make_study(tmp_path, trials=1)
    unverified(tmp_path / "graded")
    unverified(tmp_path / "asked", "trigger", TRIGGER)
    edit_study(
        study,
        tasks=[{"path": name, "skills": "brew"} for name in ("tea", "graded", "asked")],
        stop_after_unanswered=1,
    )
    return study


def test_a_trial_without_a_verifier_is_complete_and_usable_without_a_reward(study, tmp_path):
    out = tmp_path / "out"
    summary = run_study(study, out)
    assert summary.statuses == {"no_verifier": 4, "scored": 2}
    assert run_study(study, out, rerun={"unscored"}).ran == 0
    record = read_record(TrialRecord, StudyFolder(out).trial_record("graded__a__1"))
    assert (record.status, record.reason, record.reward) == ("unscored", "no_verifier", None)
    assert (record.message, record.verifier_seconds) == (None, None)
    assert not (out / "trials/graded__a__1/raw/verifier").exists()
    ingest_trials(out)
    coverage = ask(out / "study.duckdb", "coverage").records()
    assert [(row["final"], row["usable"], row["unscored"]) for row in coverage] == [(3, 3, 0)] * 2
    assert figures(out) == (1, 1.0, 1.0, 1, 1)


def test_a_run_of_tasks_without_a_verifier_is_no_outage(study, tmp_path):
    edit_study(study, tasks=[{"path": "graded", "skills": "brew"}], trials_per_cell=3)
    assert run_study(study, tmp_path / "out").statuses == {"no_verifier": 6}


def figures(out):
    """What the outcome questions say of arm b, and of both: a task without a verifier is in none."""
    database = out / "study.duckdb"
    outcomes = ask(database, "outcomes").records()[1]
    assert ask(database, "gain").rows
    return (
        outcomes["strict_passes"], outcomes["strict_rate"], outcomes["mean_reward"],
        len(ask(database, "task_deltas").rows), len(ask(database, "outcome_modes").rows) // 2,
    )  # fmt: skip


def test_without_any_verifier_no_pass_rate_is_invented(study, tmp_path):
    edit_study(study, tasks=[{"path": "graded", "skills": "brew"}])
    out = tmp_path / "out"
    run_study(study, out)
    ingest_trials(out)
    assert figures(out) == (None, None, None, 0, 0)
    said = {
        (name, column)
        for name, question in QUESTIONS.items()
        for column in question.columns
        if re.search(r"strict|passes|pass_rate|reward|solved|delta_rate$", column)
        for row in ask(out / "study.duckdb", name).records()
        if row[column] is not None
    }
    assert {one for one in said if one[0] not in OF_GATES} == set()
    page = build_report(out / "study.duckdb", tmp_path / "report").path.read_text("utf-8")
    assert "0 of 1" not in page


def test_check_says_who_judges_and_proves_nothing(study):
    found = {one.task: one for one in check_study(study).tasks}
    assert {name: one.verdict for name, one in found.items()} == dict.fromkeys(found, "unknown")
    assert found["graded"].problems == (
        "it has no verifier: tests/rubric.json judges its trials, so nothing here was proved",
    )
    assert "tests/trigger.json" in found["asked"].problems[0]


def test_a_folder_that_nothing_judges_is_still_no_task(tmp_path):
    study = make_study(tmp_path)
    (tmp_path / "tea/tests/test.sh").unlink()
    with pytest.raises(StudyError, match=r"missing tests/test\.sh"):
        run_study(study, tmp_path / "out")


def test_in_harbor_the_missing_reward_is_no_fault(tmp_path):
    job = make_job(unverified(tmp_path / "tea"))
    copied = prepare_task(job, tmp_path / "copies")
    assert "no verifier" in (copied / "tests/test.sh").read_text()
    assert not (job.task_dir / "tests/test.sh").exists()
    ends = {
        "RewardFileNotFoundError": ("unscored", "no_verifier", None),
        "NonZeroAgentExitCodeError": ("unscored", "no_verifier", "NonZeroAgentExitCodeError"),
        "SandboxBuildFailedError": ("error", None, "SandboxBuildFailedError"),
    }
    for exception, end in ends.items():
        record = fake.trial("tea", "arm", status="error", reward=None, exception=exception)
        marked = without_verifier(record, job.task)
        assert (marked.status, marked.reason, marked.exception) == end
