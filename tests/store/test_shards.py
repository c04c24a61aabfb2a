"""Shards read as one study give what one database of the same logs gives."""

import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from skilljuror import open_study
from skilljuror.base.errors import QueryError, StoreError, StudyError, UsageError
from skilljuror.base.files import StudyFolder
from skilljuror.logs.discovery import Finder, LogFilter, discover
from skilljuror.store.connect import SQL, open_read
from skilljuror.store.logs import ingest_logs
from skilljuror.store.questions import export, run
from skilljuror.store.records import keeps_quotes
from skilljuror.store.writer import RUN_TABLES
from tests.support.changing_logs import ChangingLogs
from tests.support.cli_process import call
from tests.support.places import GOLDENS, ROOT
from tests.support.sharded import everything, ingested, rounded, tables
from tests.support.studies import until


def separated(first: str, count: int) -> str:
    """A name of a folder in a later shard than the name `first`."""
    where = {name: shard_of(name, count) for name in (first, *(f"{first}{n}" for n in range(50)))}
    return next(name for name, shard in where.items() if shard > where[first])


def shard_of(folder: str, count: int) -> int:
    return next(
        number
        for number in range(1, count + 1)
        if Finder(LogFilter(shard=(number, count)))._is_ours(Path(folder))
    )


@pytest.fixture(scope="module")
def fleet(tmp_path_factory):
    """The golden logs, a folder for each agent: two formats may have the same session."""
    folder = tmp_path_factory.mktemp("fleet")
    for case in GOLDENS.glob("*/"):
        shutil.copytree(case, folder / case.name.partition("-")[0] / case.name)
    return folder


@pytest.fixture(scope="module")
def whole(fleet, tmp_path_factory):
    found = everything(ingested(tmp_path_factory.mktemp("whole"), [fleet], 0))
    assert min(len(found["trajectories"]), len(found["verdicts"])) > 30
    return found


@pytest.mark.parametrize("count", [3, *(pytest.param(n, marks=pytest.mark.slow) for n in (1, 7))])
def test_shards_hold_every_row_and_answer_of_one_database(count, fleet, whole, tmp_path):
    shards = everything(ingested(tmp_path, [fleet], count))
    assert len([path for path in StudyFolder(tmp_path).shards if run_count(path)]) >= min(count, 3)
    assert [name for name in whole if shards[name] != whole[name]] == []
    assert shards.keys() == whole.keys()


def run_count(study: Path) -> int:
    return len(run(StudyFolder(study).database, "FROM trajectories").rows)


def test_every_table_of_runs_is_known():
    """Of a table that is forgotten in tables.sql no row of a run may stay."""
    columns = re.findall(
        r"CREATE TABLE (\w+) \(\n    (?:event VARCHAR.*\n    )?(trajectory|trial) ", SQL
    )
    planned = {"planned_trials", "trials", "trial_codes", "attempts", "acceptances"}
    assert {table for table, _ in columns} - planned == set(RUN_TABLES)


def test_a_session_stays_with_its_sub_agents(tmp_path):
    logs = ChangingLogs(tmp_path / "logs")
    for session in range(3):
        logs.grow_head(session, 2)
        logs.grow_agent(session, 0, 2)
    named = logs.root / "projects" / "-w0"
    split = [
        {one.source.path for one in _found([named], number)} for number in (1, 2, 3)
    ]  # fmt: skip
    assert sorted(map(len, split)) == [0, 0, 3]


def _found(paths, number):
    finder = Finder(LogFilter(shard=(number, 3)))
    return finder.join(finder.locate(paths))


def test_every_file_is_in_one_shard(tmp_path):
    shutil.copytree(GOLDENS / "codex-rollout", tmp_path / "logs" / "a")
    (tmp_path / "logs" / "README.md").write_text("# Logs\n")
    shutil.copytree(GOLDENS / "claude-session", tmp_path / "logs" / "b")
    named = next((GOLDENS / "atif").rglob("*.json"), None) or next(GOLDENS.rglob("*.jsonl"))
    paths = [tmp_path / "logs", named]
    split = [str(one.source.path) for number in (1, 2, 3) for one in _found(paths, number)]
    assert sorted(split) == sorted(str(one.source.path) for one in discover(paths))


@pytest.mark.slow
def test_of_a_run_in_two_shards_the_later_one_counts_whole(tmp_path):
    logs, later = ChangingLogs(tmp_path / "logs"), separated("first", 3)
    logs.grow_head(0, 4)
    for name in ("first", later):
        shutil.copytree(logs.root / "projects" / "-w0", tmp_path / "copies" / name)
    log = next((tmp_path / "copies" / later).iterdir())
    log.write_text("".join(log.read_text().splitlines(keepends=True)[:5]))
    study = ingested(tmp_path / "study", [tmp_path / "copies"], 3)
    found = run(StudyFolder(study).readable(), "SELECT source, steps FROM trajectories").rows
    assert found == [(str(log), 2)]
    rows = tables(study)
    assert (len(rows["steps"]), len(rows["sources"])) == (2, 2)
    alone = StudyFolder(study).shard(shard_of(later, 3), 3)
    for table in (*RUN_TABLES, "readings"):
        assert rows[table] == sorted(
            repr(rounded(row)) for row in run(StudyFolder(alone).database, f"FROM {table}").rows
        )


@pytest.mark.slow
def test_a_missing_shard_is_named_and_left_out_only_on_request(tmp_path):
    study = ingested(tmp_path, [GOLDENS / "codex-rollout"], 2)
    shutil.rmtree(tmp_path / "1-of-2")
    with pytest.raises(StudyError, match=r"shard 1 of 2 is missing: '.*1-of-2'; ingest it or pass"):
        StudyFolder(study).readable(partial=False)
    with pytest.raises(StudyError, match=r"1-of-2'; ingest it$"):
        StudyFolder(study).readable()
    with pytest.raises(StudyError, match="shard 1 of 2 is missing"):
        open_study(study)
    assert open_study(study, partial=True).rows("SELECT 1 AS one") == [{"one": 1}]
    with pytest.raises(StudyError, match="holds 2 shards"):
        _ = StudyFolder(study).existing_database
    assert "holds 2 shards" in call("review", study, "--list").stderr


def test_texts_are_shown_only_if_every_shard_keeps_them(tmp_path):
    (tmp_path / "1-of-2").mkdir()
    assert keeps_quotes(tmp_path)
    (tmp_path / "1-of-2" / "no-quotes").touch()
    assert not keeps_quotes(tmp_path)


def test_two_splits_and_a_database_do_not_mix(tmp_path):
    study = ingested(tmp_path, [GOLDENS / "codex-rollout"], 2)
    with pytest.raises(UsageError, match="holds shards; add --shard"):
        ingest_logs(study, [GOLDENS])
    (tmp_path / "1-of-3").mkdir()
    with pytest.raises(StudyError, match=r"two splits.*: 1-of-2, 1-of-3, 2-of-2"):
        StudyFolder(study).readable()


@pytest.fixture(scope="module")
def one_shard(tmp_path_factory):
    return ingested(tmp_path_factory.mktemp("one"), [GOLDENS / "codex-rollout"], 1)


@pytest.mark.parametrize(
    "sql",
    [
        "INSERT INTO shard_0.events FROM shard_0.events",
        "DETACH shard_0",
        "CREATE TABLE mine (a INTEGER)",
        "EXPLAIN ANALYZE COPY events TO '{shard}' (FORMAT parquet, USE_TMP_FILE false)",
        "COPY events TO '{shard}' (FORMAT parquet, USE_TMP_FILE false)",
        "FROM read_text('{other}')",
    ],
)
def test_sql_reads_the_shards_and_nothing_else(sql, one_shard):
    shard = StudyFolder(StudyFolder(one_shard).shard(1, 1)).database
    before = shard.read_bytes()
    with open_read(StudyFolder(one_shard).readable()) as reader, pytest.raises(QueryError):
        reader.rows(sql.format(shard=shard, other=ROOT / "README.md"))
    assert shard.read_bytes() == before


def test_a_damaged_shard_is_named(tmp_path):
    study = ingested(tmp_path, [GOLDENS / "codex-rollout"], 2)
    (tmp_path / "2-of-2" / "study.duckdb").write_text("none")
    with pytest.raises(StoreError, match="2-of-2"), open_read(StudyFolder(study).readable()):
        pass


def test_an_export_of_shards_is_that_of_one_database(one_shard, tmp_path):
    study = StudyFolder(one_shard)
    whole = StudyFolder(study.shard(1, 1)).database
    assert export(study.readable(), tmp_path / "shards") == export(whole, tmp_path / "whole")
    one, other = (tmp_path / name / "dictionary.csv" for name in ("shards", "whole"))
    assert one.read_text() == other.read_text()


@pytest.mark.slow
def test_a_killed_shard_is_missing_and_the_same_command_completes_it(tmp_path):
    logs = ChangingLogs(tmp_path / "logs")
    for session in range(30):
        logs.grow_head(session, 20)
    number, shards = shard_of("projects", 2), StudyFolder(tmp_path / "shards")
    command = [
        sys.executable, "-m", "skilljuror", "ingest", str(logs.root), "--study", "shards", "--jobs", "1",
        "--shard", f"{number}/2",
    ]  # fmt: skip
    ingest_logs(shards.shard(3 - number, 2), [logs.root], wanted=LogFilter(shard=(3 - number, 2)))
    place = StudyFolder(shards.shard(number, 2))
    killed = subprocess.Popen(command, cwd=tmp_path)
    until(
        lambda: place.database.with_name("study.duckdb.new").exists() or killed.poll() is not None
    )
    killed.send_signal(signal.SIGKILL)
    killed.wait()
    with pytest.raises(StudyError, match=f"shard {number} of 2 is missing"):
        shards.readable()
    subprocess.run(command, cwd=tmp_path, check=True)
    ingest_logs(tmp_path / "whole", [logs.root])
    assert tables(shards.root) == tables(tmp_path / "whole")
