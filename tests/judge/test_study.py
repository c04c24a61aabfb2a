"""Judging a study, and the sample that people label."""

import os
import subprocess
import sys
import time
from collections import Counter

import duckdb
import pytest

from skilljuror.base.files import StudyFolder
from skilljuror.base.workers import Progress
from skilljuror.judge.study import BATCH_SECONDS, judge_study, label_sample
from skilljuror.store import open_read
from skilljuror.store.logs import ingest_logs
from skilljuror.store.questions import run
from skilljuror.store.trials import ingest_trials
from skilljuror.study.run import run_study
from tests.support.fabricated_studies import small_study
from tests.support.ingested import tables
from tests.support.places import GOLDENS
from tests.support.studies import make_study, until

SLOW_JUDGE = """
import sys
import time
from pathlib import Path
from skilljuror.judge.tracing import TracingJudge

class Slow(TracingJudge):
    def judge(self, trial, trajectory, events, manifest):
        time.sleep(0.4)
        with Path(__file__).with_name("asked").open("a") as log:
            print(trial, file=log)
        return super().judge(trial, trajectory, events, manifest)
"""


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    folder = tmp_path_factory.mktemp("judged") / "s"
    ingest_logs(folder, [GOLDENS])
    return folder


def judged(study):
    rows = run(study / "study.duckdb", "SELECT DISTINCT trial FROM verdicts").rows
    return {trial for (trial,) in rows}


@pytest.mark.slow
def test_a_killed_judge_loses_one_batch(study, tmp_path):
    tmp_path.joinpath("slow_judge.py").write_text(SLOW_JUDGE)
    asked = tmp_path / "asked"
    command = [sys.executable, "-m", "skilljuror", "judge", study]
    with subprocess.Popen(
        [*command, "--judge", "slow_judge:Slow", "-j", "1"],
        env={**os.environ, "PYTHONPATH": f"{tmp_path}:{os.environ.get('PYTHONPATH', '')}"},
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    ) as process:  # fmt: skip
        limit = time.monotonic() + 60
        while not asked.exists() or len(asked.read_text().split()) < 12:
            assert process.poll() is None
            assert time.monotonic() < limit
            time.sleep(0.05)
        process.kill()
    kept = judged(study)
    assert kept
    everything = judge_study(study)
    assert kept <= judged(study)
    assert judge_study(study) == everything


@pytest.mark.slow
def test_a_question_is_answered_while_a_judge_works_and_the_judge_waits_for_it(study, tmp_path):
    tmp_path.joinpath("slow_judge.py").write_text(SLOW_JUDGE)
    asked = tmp_path / "asked"
    with subprocess.Popen(
        [sys.executable, "-m", "skilljuror", "judge", study, "--judge", "slow_judge:Slow", "-j", "1"],
        env={**os.environ, "PYTHONPATH": f"{tmp_path}:{os.environ.get('PYTHONPATH', '')}"},
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
    ) as process:  # fmt: skip
        until(lambda: asked.exists() and len(asked.read_text().split()) == 2, 60)
        with open_read(study / "study.duckdb") as reader:
            held = reader.rows("SELECT count(DISTINCT trajectory) FROM events WHERE counted").rows[
                0
            ][0]
            time.sleep(2 * BATCH_SECONDS)
        assert process.poll() is None
        _, complaints = process.communicate(timeout=120)
        assert process.returncode == 0, complaints
    assert held == len(asked.read_text().split())


@pytest.mark.slow
def test_what_a_judge_said_before_gives_way_to_what_it_says_now(study):
    judge_study(study)
    before = tables(study)["verdicts"]
    assert judge_study(study).events == len(before)
    assert tables(study)["verdicts"] == before


@pytest.mark.slow
def test_only_trials_that_changed_are_judged_again(tmp_path):
    arms = {"baseline": "baseline", "pd": "pd"}
    file = make_study(tmp_path, packaged=["redact-lines"], variants=arms, trials=1, agent={"name": "scripted"})  # fmt: skip
    run_study(file, tmp_path / "out")
    ingest_trials(tmp_path / "out")
    told: list[Progress] = []
    first = judge_study(tmp_path / "out", progress=told.append)
    assert {one.total for one in told} == {2}
    told.clear()
    assert judge_study(tmp_path / "out", progress=told.append) == first
    assert told == []
    folder = StudyFolder(tmp_path / "out")
    for changed, count in ((folder.trial_record("redact-lines__pd__1"), 1), (folder.builds, 2)):
        next(path for path in [changed, *changed.rglob("*.md")] if path.is_file()).touch()
        judge_study(folder.root, progress=told.append)
        assert told[-1].total == count


def test_a_sample_comes_from_every_condition_and_every_answer(tmp_path):
    small_study(tmp_path)
    made = label_sample(tmp_path, size=6)
    uses = run(tmp_path / "study.duckdb", "SELECT count(*) FROM uses").rows[0][0]
    assert made.uses == uses > len(made.sample) == 6
    drawn = Counter((use.condition, use.answer) for use in made.sample)
    assert {condition for condition, _ in drawn} == {"baseline", "pd"}
    assert {answer for _, answer in drawn} == {"yes", "no", "unknown"}


def test_it_is_drawn_once(tmp_path):
    small_study(tmp_path)
    made = label_sample(tmp_path, size=5, seed=3)
    kept = StudyFolder(tmp_path).label_sample.read_bytes()
    assert label_sample(tmp_path, size=9, seed=4) == made
    StudyFolder(tmp_path).label_sample.unlink()
    label_sample(tmp_path, size=5, seed=3)
    assert StudyFolder(tmp_path).label_sample.read_bytes() == kept


def test_a_database_that_missed_the_sample_gets_it_at_the_next_look(tmp_path):
    small_study(tmp_path)
    made = label_sample(tmp_path, size=5)
    with duckdb.connect(str(tmp_path / "study.duckdb")) as database:
        database.execute("DELETE FROM label_sample")
    label_sample(tmp_path)
    assert events_in(tmp_path) == [use.event for use in made.sample]


def events_in(study):
    sql = "SELECT event FROM label_sample ORDER BY position"
    return [row[0] for row in run(study / "study.duckdb", sql).rows]
