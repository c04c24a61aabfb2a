"""A database of another version: ingest makes it again from its sources, nobody else touches it."""

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import duckdb
import pytest

from skilljuror.base.errors import StoreError
from skilljuror.base.files import StudyFolder
from skilljuror.judge.study import judge_study
from skilljuror.layouts.build.assay import AssaySettings, assay_many
from skilljuror.logs.discovery import LogFilter
from skilljuror.store.logs import ingest_logs
from skilljuror.store.questions import run
from skilljuror.store.study_files import refresh, store_builds
from skilljuror.store.trials import ingest_trials
from skilljuror.study.run import run_study
from tests.support.cli_process import call
from tests.support.ingested import READ, tables
from tests.support.places import GOLDENS
from tests.support.studies import make_study

pytestmark = pytest.mark.slow

CLAUDE = GOLDENS / "claude-session" / "skill-call" / "raw.jsonl"


def another_schema(path):
    with duckdb.connect(str(path)) as connection:
        connection.execute("UPDATE made_by SET schema_sha256 = 'another'")


def foreign(path):
    path.unlink()
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE TABLE poems (line VARCHAR)")


def damaged(path):
    path.write_bytes(b"hello" * 5000)


def missing(path):
    path.unlink()


OTHERS = {
    "another schema": another_schema,
    "foreign": foreign,
    "damaged": damaged,
}
others = pytest.mark.parametrize("spoil", OTHERS.values(), ids=OTHERS)


@pytest.fixture(scope="module")
def logs(tmp_path_factory):
    """Logs of all formats, ingested in two goes; a trial without a log is among them."""
    study = tmp_path_factory.mktemp("logs")
    ingest_logs(study, [GOLDENS / "codex-rollout", GOLDENS / "harbor-trial"])
    ingest_logs(study, [GOLDENS])
    return study


@pytest.fixture(scope="module")
def trials(tmp_path_factory):
    """A study of two finished trials, one with a log that names skills."""
    base = tmp_path_factory.mktemp("trials")
    study = base / "out"
    run_study(make_study(base, trials=1, variants={"a": None, "b": "baseline"}), study)
    log = StudyFolder(study).trial_raw("tea__b__1") / "agent" / "log.jsonl"
    log.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(READ, log)
    ingest_trials(study)
    assert len(tables(study)["trajectories"]) == 1
    return study


def copied(study, tmp_path, spoil):
    copy = shutil.copytree(study, tmp_path / "copy")
    spoil(copy / "study.duckdb")
    return copy


def without_place(study):
    """Rows of a study, whatever the folder is called: a trial's sources lie in it."""
    return {
        name: [row.replace(str(study), "STUDY") for row in rows]
        for name, rows in tables(study).items()
    }


@pytest.mark.slow
@pytest.mark.parametrize("spoil", [*OTHERS.values(), missing], ids=[*OTHERS, "missing"])
def test_whatever_logs_were_ingested_are_read_again(spoil, logs, tmp_path):
    """One log is named now; the others are known from earlier ingests."""
    study = copied(logs, tmp_path, spoil)
    summary = ingest_logs(study, [READ])
    assert summary.remade
    assert tables(study) == tables(logs)
    assert not ingest_logs(study, [READ]).remade
    assert tables(study) == tables(logs)


@others
def test_a_study_is_made_again_from_its_folder(spoil, trials, tmp_path):
    study = copied(trials, tmp_path, spoil)
    assert ingest_trials(study).remade
    assert without_place(study) == without_place(trials)
    assert not ingest_trials(study).remade


def test_dates_of_earlier_ingests_still_hold(tmp_path):
    """Nothing older than its date comes in by being made again; a path asked for whole comes whole."""
    study, late, whole = tmp_path / "s", tmp_path / "late", tmp_path / "whole"
    for folder, name in ((late, "old"), (late, "new"), (whole, "older")):
        folder.mkdir(exist_ok=True)
        shutil.copy(CLAUDE if name == "old" else READ, folder / f"{name}.jsonl")
    os.utime(late / "old.jsonl", (1e9, 1e9))
    os.utime(whole / "older.jsonl", (1e8, 1e8))
    ingest_logs(study, [late], wanted=LogFilter(since=1.5e9))
    ingest_logs(study, [whole])
    expected = tables(study)
    another_schema(study / "study.duckdb")
    ingest_logs(study, [late], wanted=LogFilter(since=2e9))
    assert {Path(path).name for (path,) in run(study / "study.duckdb", "SELECT path FROM sources").rows} == {
        "new.jsonl", "older.jsonl"
    }  # fmt: skip
    assert tables(study) == expected


def test_the_command_says_what_it_did_and_what_is_not_in_it(logs, tmp_path):
    study = copied(logs, tmp_path, another_schema)
    done = call("ingest", READ, "--study", study)
    assert "rebuilt from all sources" in done.stdout
    assert f"skilljuror judge {study}" in done.stdout


KILLED = """
import os, signal, sys
from pathlib import Path
from skilljuror.store import Store
from skilljuror.store import logs, trials
logs.BATCH_BYTES = trials.BATCH_BYTES = 1
put = Store.put
def put_and_die(self, kind, *rows):
    put(self, kind, *rows)
    if kind == "runs":
        os.kill(os.getpid(), signal.SIGKILL)
Store.put = put_and_die
from skilljuror.store.logs import ingest_logs
from skilljuror.store.trials import ingest_trials
study, *paths = map(Path, sys.argv[1:])
ingest_logs(study, paths) if paths else ingest_trials(study)
"""


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["logs", "trials"])
def test_a_kill_in_the_middle_loses_nothing(kind, logs, trials, tmp_path):
    """The old database stands as it was, and the next ingest makes the new one whole."""
    whole = {"logs": logs, "trials": trials}[kind]
    study = copied(whole, tmp_path, another_schema)
    old = (study / "study.duckdb").read_bytes()
    paths = [READ] if kind == "logs" else []
    done = subprocess.run([sys.executable, "-c", KILLED, study, *paths], check=False)
    assert done.returncode == -signal.SIGKILL
    assert (study / "study.duckdb").read_bytes() == old
    if paths:
        ingest_logs(study, paths)
    else:
        ingest_trials(study)
    assert without_place(study) == without_place(whole)


@others
@pytest.mark.parametrize("kind", ["logs", "trials"])
def test_every_other_command_refuses_it_and_names_ingest(spoil, kind, logs, trials, tmp_path):
    study = copied({"logs": logs, "trials": trials}[kind], tmp_path, spoil)
    before = (study / "study.duckdb").read_bytes()
    for refused in (judge_study, lambda study: run(study / "study.duckdb", "overview")):
        with pytest.raises(StoreError, match=r"run `skilljuror ingest`"):
            refused(study)
    assert (study / "study.duckdb").read_bytes() == before


def test_what_an_assay_keeps_waits_in_the_builds_for_ingest(trials, tmp_path):
    study = copied(trials, tmp_path, another_schema)
    assay_many([study], AssaySettings(sites=1), keep=True)
    with pytest.raises(StoreError, match=r"run `skilljuror ingest`"):
        refresh(study)
    ingest_trials(study)
    kept = run(study / "study.duckdb", "gate_power").records()
    assert {row["kind"] for row in kept} == {"drift", "harmless"}


@others
def test_a_database_of_builds_alone_is_made_again_by_a_build(spoil, trials, tmp_path):
    """All builds of the folder come back, not only those that were built now."""
    folder = tmp_path / "builds"
    for name in ("milk", "tea"):
        shutil.copytree(StudyFolder(trials).builds / "tea", folder / name)
    store_builds(folder, ["milk", "tea"])
    spoil(folder / "study.duckdb")
    path = store_builds(folder, ["tea"])
    assert run(path, "SELECT build FROM builds ORDER BY 1").rows == [("milk",), ("tea",)]


def test_a_build_does_not_replace_a_database_of_logs(logs, trials, tmp_path):
    study = copied(logs, tmp_path, another_schema)
    shutil.copytree(StudyFolder(trials).builds / "tea", study / "tea")
    with pytest.raises(StoreError, match=r"run `skilljuror ingest`"):
        store_builds(study, ["tea"])
    ingest_logs(study, [READ])
    assert run(study / "study.duckdb", "SELECT build FROM builds").rows == [("tea",)]
    assert run(study / "study.duckdb", "SELECT count(*) FROM trajectories").rows != [(0,)]
