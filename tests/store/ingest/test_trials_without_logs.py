"""Foreign trials that left no log: each is a row, and nothing about it is made up."""

import json
import shutil
from pathlib import Path

import pytest

from skilljuror.logs.harbor import read_result
from skilljuror.store.logs import ReadPolicy, ingest_logs
from skilljuror.store.questions import catalog, run
from tests.support.cli_process import call
from tests.support.ingested import READ, tables
from tests.support.places import GOLDENS

pytestmark = pytest.mark.slow

LOGGED = GOLDENS / "harbor-trial" / "codex" / "raw"
EPISODES = GOLDENS / "harbor-trial" / "episodes" / "raw"
NO_LOG = GOLDENS / "harbor-trial" / "no-log" / "raw"
KEPT = "its result is stored"


def ask(study, question):
    return run(study / "study.duckdb", question).records()


def reasons(study):
    return {Path(row["path"]).name: (row["status"], row["reason"]) for row in ask(study, "sources")}


def trial(folder, source=LOGGED, *, log=True, **changes):
    """A copy of a trial folder with another result, with or without its log."""
    shutil.copytree(source, folder)
    if not log:
        shutil.rmtree(folder / "agent")
    edit(folder, **changes)
    return folder


def edit(folder, **changes):
    path = folder / "result.json"
    path.write_text(json.dumps(json.loads(path.read_bytes()) | changes), encoding="utf-8")


def fresh(tmp_path, *paths):
    """The rows of a database into which the paths were read at once."""
    ingest_logs(tmp_path / "fresh", list(paths))
    return tables(tmp_path / "fresh")


def test_a_trial_without_a_log_keeps_what_its_result_says(tmp_path):
    summary = ingest_logs(tmp_path, [NO_LOG])
    assert (summary.unlogged, summary.trajectories, summary.steps, summary.errors) == (1, 0, 0, 0)
    (row,) = ask(tmp_path, "SELECT * FROM unlogged_trials")
    told = read_result(NO_LOG)
    assert {name: row[name] for name in ("trial", "name", "task", "agent", "model", "source")} == {
        "trial": told.id, "name": told.trial_name, "task": told.task_name,
        "agent": "terminus-2", "model": "openai/scripted-1", "source": str(NO_LOG),
    }  # fmt: skip
    assert (row["reward"], row["exception"]) == (1.0, "AgentTimeoutError")
    assert row["message"] == "Agent execution timed out after 6.0 seconds"
    assert (row["agent_version"], str(row["started_at"])) == (None, "2026-03-01 08:59:50")
    assert str(row["finished_at"]) == "2026-03-01 09:01:00"
    assert reasons(tmp_path) == {"raw": ("parsed", f"contains no log of its agent; {KEPT}")}


def test_what_a_log_would_tell_is_null_and_never_nothing(tmp_path):
    ingest_logs(tmp_path, [LOGGED, NO_LOG])
    logged, alone = ask(tmp_path, "observed_trials")
    assert (logged["logged"], logged["steps"], logged["uses"]) == (True, 2, 1)
    assert alone["logged"] is False
    assert [alone[name] for name in ("steps", "sub_agents", "uses")] == [None, None, None]
    counted = ask(tmp_path, "SELECT count(*) AS n FROM measures WHERE trial NOT IN"
                  " (SELECT trajectory FROM trajectories)")  # fmt: skip
    assert counted == [{"n": 0}]


def test_failed_trials_count_among_outcomes_and_are_neither_opened_nor_not(tmp_path):
    """One logged trial that opened a Skill (reward 1), two that failed before they left a log."""
    for number, reward in ((1, 0.0), (2, None)):
        rewards = {"rewards": {} if reward is None else {"reward": reward}}
        trial(tmp_path / "jobs" / f"t{number}", log=False, id=f"n{number}", verifier_result=rewards)
    trial(tmp_path / "jobs" / "t3")
    ingest_logs(tmp_path / "s", [tmp_path / "jobs"])
    (row,) = ask(tmp_path / "s", "observed_outcomes")
    assert (row["trials"], row["scored"], row["strict_passes"], row["mean_reward"]) == (
        3,
        2,
        1,
        0.5,
    )
    assert (row["logged"], row["opened"]) == (1, 1)
    assert (row["reward_opened"], row["reward_not_opened"]) == (1.0, None)


FRAME = {
    "observed_outcomes", "observed_trials", "overview", "process", "run_list", "source_counts", "sources",
}  # fmt: skip
"""Questions that count trials and files, whether a log is there or not."""


def test_no_other_question_knows_of_trials_without_a_log(tmp_path):
    ingest_logs(tmp_path / "two", [LOGGED, EPISODES])
    ingest_logs(tmp_path / "three", [LOGGED, EPISODES, NO_LOG])
    answers = {
        entry.name: [ask(tmp_path / study, entry.name) for study in ("two", "three")]
        for entry in catalog()
    }
    assert {name for name, (two, three) in answers.items() if two != three} == FRAME
    two, three = (dict(rows[0]) for rows in answers["process"])
    assert (two.pop("trials"), three.pop("trials")) == (2, 3)
    assert two == three


def test_a_log_that_appears_takes_the_place_of_its_trial_until_it_is_pruned(tmp_path):
    folder = trial(tmp_path / "t", log=False)
    ingest_logs(tmp_path / "s", [folder])
    alone = tables(tmp_path / "s")
    assert len(alone["unlogged_trials"]) == 1
    shutil.copytree(LOGGED / "agent", folder / "agent")
    ingest_logs(tmp_path / "s", [folder])
    assert tables(tmp_path / "s") == fresh(tmp_path, folder)
    assert tables(tmp_path / "s")["unlogged_trials"] == []
    shutil.rmtree(folder / "agent")
    with_log = tables(tmp_path / "s")["trajectories"]
    ingest_logs(tmp_path / "s", [folder])
    assert tables(tmp_path / "s")["trajectories"] == with_log
    ingest_logs(tmp_path / "s", [folder], policy=ReadPolicy(prune=True))
    assert tables(tmp_path / "s") == alone


@pytest.mark.parametrize("order", [("with", "without"), ("without", "with")])
def test_of_two_copies_of_a_trial_the_one_with_the_log_counts(tmp_path, order):
    trial(tmp_path / "with")
    trial(tmp_path / "without", log=False)
    for name in (*order, *order):
        ingest_logs(tmp_path / "s", [tmp_path / name])
    assert [row["logged"] for row in ask(tmp_path / "s", "observed_trials")] == [True]
    assert len(ask(tmp_path / "s", "sources")) == 2


def test_a_folder_that_is_gone_keeps_its_rows_as_a_log_does(tmp_path):
    folder = trial(tmp_path / "t", log=False, id="gone")
    log = shutil.copy(READ, tmp_path / "log.jsonl")
    ingest_logs(tmp_path / "s", [folder, Path(log)])
    before = tables(tmp_path / "s")
    shutil.rmtree(folder)
    Path(log).unlink()
    ingest_logs(tmp_path / "s", [LOGGED])
    ingest_logs(tmp_path / "fresh", [LOGGED])
    added = tables(tmp_path / "fresh")
    for name in ("unlogged_trials", "trajectories", "sources"):
        assert tables(tmp_path / "s")[name] == sorted({*before[name], *added[name]})


def test_a_trial_whose_only_log_is_broken_is_an_error_and_kept(tmp_path):
    folder = trial(tmp_path / "t", log=False)
    (folder / "agent").mkdir()
    (folder / "agent" / "trajectory.json").write_text('{"schema_version": "ATIF-v1.7"}')
    done = call("ingest", folder, "--study", tmp_path / "s", "--json")
    assert done.returncode == 1
    summary = json.loads(done.stdout)
    assert (summary["errors"], summary["unlogged"], summary["trajectories"]) == (1, 1, 0)
    status, reason = reasons(tmp_path / "s")["t"]
    assert status == "error"
    assert "has no list of steps" in reason
    assert reason.endswith(KEPT)
    assert [row["reason"] for row in ask(tmp_path / "s", "observed_trials")] == [reason]


def test_logs_of_another_time_are_no_log_of_the_trial(tmp_path):
    window = {"started_at": "2001-01-01T00:00:00Z", "finished_at": "2001-01-01T00:01:00Z"}
    folder = trial(tmp_path / "t", agent_execution=window)
    ingest_logs(tmp_path / "s", [folder])
    (row,) = ask(tmp_path / "s", "observed_trials")
    assert row["logged"] is False
    assert "logs, but none with a run of its agent during the trial" in row["reason"]


def test_a_person_is_told_of_it_and_led_to_what_is_known(tmp_path):
    study = tmp_path / "study"
    done = call("ingest", NO_LOG, "--study", study)
    assert "trials with a result but no log: 1" in done.stdout
    assert "observed_trials" in done.stdout
    name = read_result(NO_LOG).id
    asked = call("show", study, name)
    assert asked.returncode != 0
    assert f"trial {name!r} has no readable log (contains no log" in asked.stderr
    assert "observed_trials" in asked.stderr
