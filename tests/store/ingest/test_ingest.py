"""Ingest of foreign logs: each run once, whatever order and however often its captures come."""

import json
import shutil
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from skilljuror.store.logs import ReadPolicy, ingest_logs
from skilljuror.store.questions import run
from tests.support.changing_logs import ChangingLogs
from tests.support.cli_process import call
from tests.support.ingested import CALL, READ, tables
from tests.support.places import GOLDENS

CLAIMED = {"info": {"mini_version": "2.4.6"}, "messages": "cut"}
"""A document that a signature claims and whose messages are none."""


def statuses(study):
    rows = run(study / "study.duckdb", "SELECT path, status FROM sources").rows
    return {Path(path).name: status for path, status in rows}


def steps(study):
    return run(study / "study.duckdb", "SELECT steps FROM trajectories ORDER BY 1").rows


def cut(path, to, lines):
    """The first lines of a log, as a capture of its session that was made earlier."""
    to.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:lines]))
    return to


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    study = tmp_path_factory.mktemp("whole")
    ingest_logs(study, [GOLDENS])
    return tables(study)


@pytest.mark.slow
def test_the_goldens_leave_runs_and_events(whole):
    assert len(whole["trajectories"]) > 15
    assert len(whole["events"]) > 30
    assert len(whole["measures"]) > 1000


@pytest.mark.slow
def test_doing_it_again_changes_nothing(whole, tmp_path):
    first = ingest_logs(tmp_path, [GOLDENS])
    assert ingest_logs(tmp_path, [GOLDENS]) == replace(first, new=0, unchanged=first.new)
    assert tables(tmp_path) == whole


@pytest.mark.slow
def test_two_workers_leave_the_rows_that_one_leaves(whole, tmp_path, monkeypatch):
    monkeypatch.setattr("skilljuror.store.logs.PORTION_GROUPS", 4)
    ingest_logs(tmp_path, [GOLDENS], jobs=2)
    assert tables(tmp_path) == whole


@pytest.mark.parametrize("log", [READ, CALL], ids=lambda path: path.parent.name)
def test_a_longer_capture_replaces_the_shorter_one(log, tmp_path):
    short = cut(log, tmp_path / "short.jsonl", 12)
    ingest_logs(tmp_path / "s", [short])
    before = steps(tmp_path / "s")
    ingest_logs(tmp_path / "s", [shutil.copy(log, tmp_path / "long.jsonl")])
    assert before[0][0] < steps(tmp_path / "s")[0][0]
    assert statuses(tmp_path / "s") == {"short.jsonl": "duplicate", "long.jsonl": "parsed"}


def test_a_native_log_that_comes_later_takes_the_place_of_its_conversion(tmp_path):
    session = json.loads(READ.read_text().splitlines()[0])["payload"]["id"]
    step = {"step_id": 1, "source": "agent", "message": "hello"}
    atif = {
        "schema_version": "ATIF-v1.7",
        "session_id": session,
        "trajectory_id": "t",
        "steps": [step],
    }
    tmp_path.joinpath("atif.json").write_text(json.dumps(atif))
    ingest_logs(tmp_path / "s", [tmp_path / "atif.json"])
    ingest_logs(tmp_path / "s", [READ])
    rows = run(tmp_path / "s" / "study.duckdb", "SELECT DISTINCT trajectory FROM steps").rows
    assert rows == [(session,)]
    assert statuses(tmp_path / "s") == {"atif.json": "duplicate", "raw.jsonl": "parsed"}


@pytest.mark.slow
def test_the_file_of_every_event_has_a_row(tmp_path):
    logs = ChangingLogs(tmp_path / "logs")
    logs.grow_head(0, 2)
    logs.grow_agent(0, 0, 2)
    head, agent = logs.head(0), logs.agent(0, 0)

    def ingested(**policy):
        ingest_logs(tmp_path / "s", [logs.root], policy=ReadPolicy(**policy))
        found = run(
            tmp_path / "s" / "study.duckdb", "SELECT path, status, reason FROM sources"
        ).rows
        return {path: (status, reason) for path, status, reason in found}

    both = {str(head): ("parsed", None), str(agent): ("part", f"part of {str(head)!r}")}
    assert ingested() == both
    sql = """
    SELECT DISTINCT s.path FROM events AS e JOIN trajectories AS t USING (trajectory)
    LEFT JOIN sources AS s ON s.path = coalesce(e.file, t.source)
    """
    found = run(tmp_path / "s" / "study.duckdb", sql).rows
    assert {path for (path,) in found} == both.keys()
    logs.grow_agent(0, 0, 1)
    assert ingested() == both
    logs.remove(head)
    assert ingested(prune=True) == {str(agent): ("parsed", None)}
    logs.grow_head(0, 2)
    assert ingested() == both
    logs.remove(agent)
    assert ingested(prune=True) == {str(head): ("parsed", None)}


@pytest.mark.slow
def test_a_claimed_file_that_cannot_be_read_is_a_row_and_the_rest_goes_on(tmp_path):
    """One odd log in a folder fails only a strict ingest; a log that was named fails any."""
    logs = tmp_path / "logs"
    logs.mkdir()
    logs.joinpath("bad.json").write_text(json.dumps(CLAIMED))
    logs.joinpath("notes.txt").write_text("no log")
    shutil.copy(READ, logs / "good.jsonl")
    named = logs / "bad.json"
    for more, status in {(): 0, ("--strict",): 1, (named,): 1}.items():
        done = call("ingest", logs, *more, "--study", tmp_path / "s", "--json")
        assert done.returncode == status, more
    summary = json.loads(done.stdout)
    assert (summary["parsed"], summary["skipped"], summary["errors"]) == (1, 1, 1)
    assert "no list of messages" in summary["failures"][0][1]
    assert statuses(tmp_path / "s")["bad.json"] == "error"


FILES = sorted(path for path in GOLDENS.glob("*/*/raw*/**/*.json*") if "harbor" not in str(path))


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    study = tmp_path_factory.mktemp("files")
    ingest_logs(study, FILES)
    return lambda: tables(study)


@pytest.mark.slow
@settings(max_examples=8, deadline=None, suppress_health_check=list(HealthCheck))
@given(numbers=st.permutations(range(len(FILES))), at=st.integers(1, len(FILES) - 1))
def test_several_calls_leave_what_one_leaves(numbers, at, files, tmp_path_factory):
    study = tmp_path_factory.mktemp("split")
    order = [FILES[number] for number in numbers]
    ingest_logs(study, order[:at])
    ingest_logs(study, order[at:])
    found, expected = tables(study), files()
    assert {name for name in expected if found[name] != expected[name]} == set()


def test_the_outcome_of_a_foreign_trial_stands_beside_its_log(tmp_path):
    study = tmp_path / "study"
    ingest_logs(study, [GOLDENS / "harbor-trial", READ])
    rows = run(study / "study.duckdb", "observed_outcomes").records()
    known = {(row["task"], row["agent"]): row for row in rows}
    result = json.loads((GOLDENS / "harbor-trial/codex/raw/result.json").read_bytes())
    told = known[result["task_name"], "codex"]
    assert told["trials"] == told["scored"] == 1
    assert told["mean_reward"] == result["verifier_result"]["rewards"]["reward"]
    runs = run(study / "study.duckdb", "SELECT count(*), count(task) FROM trajectories").rows
    assert runs == [(sum(row["logged"] for row in rows) + 1, sum(row["logged"] for row in rows))]
