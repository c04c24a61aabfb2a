"""Trials that end without an outcome are no dead end: they run again, or a person takes them as final."""

import shutil

import pytest

from skilljuror.base.errors import StudyError, UsageError
from skilljuror.base.files import StudyFolder, read_record, write_record
from skilljuror.base.review import Acceptance
from skilljuror.base.review_rows import rows_of
from skilljuror.base.study import TrialRecord
from skilljuror.report.answers import Answers
from skilljuror.report.headline import headline
from skilljuror.store.ingest.trials import ingest_trials
from skilljuror.store.questions.run import open_read
from skilljuror.store.questions.run import run as ask
from skilljuror.study.attempts import accept_trial, chosen_ends, set_aside
from skilljuror.study.run import run_study
from tests.support.harness_tasks import write_tree
from tests.support.studies import make_study


@pytest.fixture(scope="module")
def original(tmp_path_factory):
    """A run of two arms in which the verifier answers in one of them alone."""
    base = tmp_path_factory.mktemp("attempts")
    study = make_study(
        base, trials=1, variants={"a": None, "b": None}, script='echo "$4" > who.txt'
    )
    test = 'if [ -e "${0%/*}/fixed" ]; then echo 1 > "$LOGS_DIR/verifier/reward.txt"; fi\n'
    write_tree(base, {"tea/tests/test.sh": f"#!/bin/bash\n{test}"})
    run_study(study, base / "out")
    return base


@pytest.fixture
def unscored(original, tmp_path):
    """A copy of it: (study file, folder of the study)."""
    shutil.copytree(original, tmp_path / "copy")
    return tmp_path / "copy" / "study.yaml", tmp_path / "copy" / "out"


def records(out):
    folder = StudyFolder(out)
    return {
        name: read_record(TrialRecord, folder.trial_record(name))
        for name in folder.finished_trials()
    }


def title(out):
    with open_read(out / "study.duckdb") as reader:
        return headline(Answers(reader)).title


def test_trials_of_an_end_run_again_and_their_records_stay(unscored):
    study, out = unscored
    before = records(out)
    assert {record.status for record in before.values()} == {"unscored"}
    assert run_study(study, out).ran == 0
    summary = run_study(study, out, rerun={"unscored"})
    assert (summary.finished, summary.ran, summary.rerun) == (2, 2, 2)
    folder = StudyFolder(out)
    assert folder.earlier_attempts() == [(name, 1) for name in sorted(before)]
    for name, record in before.items():
        assert read_record(TrialRecord, folder.attempt(name, 1) / "trial.json") == record
        assert (folder.attempt(name, 1) / "raw" / "artifacts.json").is_file()
        assert records(out)[name].started_at > record.started_at
    assert run_study(study, out, rerun={"error"}).ran == 0
    assert run_study(study, out, rerun={"unscored"}).rerun == 2
    assert [number for _, number in folder.earlier_attempts()] == [1, 2, 1, 2]


def test_an_accepted_trial_is_final_and_the_report_has_its_headline(unscored):
    study, out = unscored
    ingest_trials(out)
    assert "have no final outcome" in title(out)
    accepted = accept_trial(out, "tea__a__1", " the host was down ", "Ann")
    assert rows_of(Acceptance, out / "reviews.jsonl") == [accepted]
    assert not (out / "trials/tea__a__1/accepted.json").exists()
    assert (accepted.by, accepted.reason) == ("Ann", "the host was down")
    again = run_study(study, out, rerun={"unscored", "error"})
    assert (again.ran, again.rerun) == (1, 1)
    assert StudyFolder(out).earlier_attempts() == [("tea__b__1", 1)]
    accept_trial(out, "tea__b__1", "the same")
    ingest_trials(out)
    assert "no final outcome" not in title(out)
    counts = ask(out / "study.duckdb", "coverage").records()
    assert [(row["attempts"], row["rerun"], row["accepted"]) for row in counts] == [
        (1, 0, 1), (2, 1, 1),
    ]  # fmt: skip


def test_a_trial_accepted_by_an_earlier_version_stays_accepted(unscored):
    study, out = unscored
    old = Acceptance(trial="tea__a__1", reason="down", by="Ann", at="2026-01-01T00:00:00+00:00")
    write_record(StudyFolder(out).acceptance("tea__a__1"), old)
    ingest_trials(out)
    (row,) = ask(out / "study.duckdb", "FROM acceptances").records()
    assert (row["trial"], row["accepted_by"]) == ("tea__a__1", "Ann")
    assert run_study(study, out, rerun={"unscored"}).rerun == 1


def test_an_acceptance_is_of_the_end_that_the_person_saw(unscored):
    study, out = unscored
    accept_trial(out, "tea__a__1", "down", "Ann")
    set_aside(StudyFolder(out), "tea__a__1")
    run_study(study, out)
    ingest_trials(out)
    assert ask(out / "study.duckdb", "FROM acceptances").rows == []
    assert run_study(study, out, rerun={"unscored"}).rerun == 2


def test_a_damaged_record_of_an_attempt_is_refused_and_the_rest_is_read(unscored):
    study, out = unscored
    run_study(study, out, rerun={"unscored"})
    (out / "attempts/tea__a__1__1/trial.json").write_text("{", encoding="utf-8")
    (out / "trials/tea__b__1/accepted.json").write_text("{}", encoding="utf-8")
    summary = ingest_trials(out)
    assert (summary.trials, summary.errors) == (2, 2)
    counts = ask(out / "study.duckdb", "coverage").records()
    assert [(row["attempts"], row["accepted"]) for row in counts] == [(1, 0), (2, 0)]


@pytest.fixture(scope="module")
def scored(tmp_path_factory):
    base = tmp_path_factory.mktemp("scored")
    run_study(make_study(base, trials=1, variants={"a": None}), base / "out")
    ingest_trials(base / "out")
    return base


def test_a_scored_trial_of_its_arm_is_neither_run_again_nor_accepted(scored):
    study, out = scored / "study.yaml", scored / "out"
    before = records(out)
    assert run_study(study, out, rerun={"unscored", "contaminated", "error"}).ran == 0
    assert records(out) == before
    with pytest.raises(UsageError, match=r"'tea__a__1' \(scored\) is already final"):
        accept_trial(out, "tea__a__1", "so")


def test_a_contaminated_trial_is_run_again_once(scored, tmp_path):
    """It says of itself that it ran under a variant which its arm does not offer."""
    shutil.copytree(scored, tmp_path / "copy")
    study, out = tmp_path / "copy" / "study.yaml", tmp_path / "copy" / "out"
    path = StudyFolder(out).trial_record("tea__a__1")
    text = path.read_text(encoding="utf-8").replace('"variant": null', '"variant": "pd"')
    path.write_text(text, encoding="utf-8")
    ingest_trials(out)
    assert run_study(study, out, rerun={"contaminated"}).rerun == 1
    again = run_study(study, out, rerun={"contaminated"})
    assert again.rerun == 0
    assert "1 finished trials are not ingested" in again.notes[0]


@pytest.mark.parametrize("reward", ["1.0", "null"])
def test_a_record_that_contradicts_its_verifier_is_refused(scored, tmp_path, reward):
    """When the run goes on as well as at ingest."""
    shutil.copytree(scored, tmp_path / "copy")
    study, out = tmp_path / "copy" / "study.yaml", tmp_path / "copy" / "out"
    said = out / "trials/tea__a__1/raw/verifier/reward.txt"
    said.write_text("0\n" if reward == "1.0" else "0.5\n", encoding="utf-8")
    path = StudyFolder(out).trial_record("tea__a__1")
    text = path.read_text(encoding="utf-8").replace('"reward": 1.0,', f'"reward": {reward},', 1)
    path.write_text(text, encoding="utf-8")
    with pytest.raises(StudyError, match=r"trial\.json': reward is .* says 0"):
        run_study(study, out)
    summary = ingest_trials(out)
    assert (summary.trials, summary.errors) == (0, 1)
    said.unlink()
    assert run_study(study, out).ran == 0


def test_without_a_database_nobody_knows_what_is_contaminated(unscored):
    with pytest.raises(StudyError, match="has no database, so contaminated trials are unknown"):
        run_study(*unscored, rerun={"contaminated"})


def test_a_trial_set_aside_by_a_run_that_was_killed_runs_in_the_next(unscored):
    study, out = unscored
    set_aside(StudyFolder(out), "tea__b__1")
    summary = run_study(study, out)
    assert (summary.finished, summary.ran) == (2, 1)
    assert StudyFolder(out).earlier_attempts() == [("tea__b__1", 1)]


@pytest.mark.parametrize(
    ("trial", "reason", "said"),
    [
        ("tea__a__1", "  ", "requires a reason"),
        ("tea__a__2", "so", r"'tea__a__2' .* mean 'tea__a__1'"),
    ],
)
def test_what_cannot_be_accepted_is_told(unscored, trial, reason, said):
    with pytest.raises((UsageError, StudyError), match=said):
        accept_trial(unscored[1], trial, reason)


def test_an_end_that_there_is_not_is_told():
    assert chosen_ends("error, unscored") == {"error", "unscored"}
    with pytest.raises(
        UsageError,
        match=r"unknown outcome 'timeout' .choose unscored, no_answer, contaminated, error",
    ):
        chosen_ends("error,timeout")
