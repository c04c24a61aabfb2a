"""A database of an older version: ingest brings it to what a new one would hold."""

import shutil
from pathlib import Path

import duckdb
import pytest

from skilljuror.errors import StoreError
from skilljuror.files import StudyFolder
from skilljuror.parsers.discovery.find_logs import LogFilter
from skilljuror.pipeline.construction.assay import AssaySettings, assay_many
from skilljuror.pipeline.construction.stored_builds import read_builds
from skilljuror.pipeline.execution.run import run_study
from skilljuror.pipeline.ingestion.ingest import ingest_logs
from skilljuror.pipeline.ingestion.trials import ingest_trials
from skilljuror.pipeline.judging import judge_study
from skilljuror.queries.run import run
from skilljuror.store import open_read, open_write, schema
from tests.pipeline.test_ingest import READ, tables
from tests.pipeline.test_run import make_study
from tests.support.places import GOLDENS

NEWEST = schema.latest_version()
OLD = range(3, NEWEST)
"""Versions that know of logs."""
KEPT_LESS = 6
"""The last version that kept less of a source than ours; later ones have other views alone."""
NO_LOG = GOLDENS / "harbor-trial" / "no-log" / "raw"
COMMON = """
SELECT a.table_name, list(a.column_name) FROM duckdb_columns() AS a
JOIN duckdb_columns() AS b ON b.table_name = a.table_name AND b.column_name = a.column_name
JOIN duckdb_tables() AS t ON t.table_name = a.table_name AND t.database_name = a.database_name
WHERE a.database_name = current_database() AND b.database_name = 'new'
    AND a.table_name <> 'schema_history'
GROUP BY ALL
"""


def made_by(version: int, study: Path, old: Path) -> Path:
    """A copy of a study's database as that version would have left it."""
    old.mkdir(parents=True, exist_ok=True)
    path = old / "study.duckdb"
    path.unlink(missing_ok=True)
    with duckdb.connect(str(path)) as connection:
        schema.apply(connection, upto=version)
        connection.execute(f"ATTACH '{study / 'study.duckdb'}' AS new (READ_ONLY)")
        for table, columns in connection.execute(COMMON).fetchall():
            names = ", ".join(f'"{name}"' for name in columns)
            connection.execute(f"INSERT INTO {table} ({names}) SELECT {names} FROM new.{table}")
        if version <= KEPT_LESS:
            connection.execute(
                "UPDATE sources SET reason = 'it holds no run' WHERE reason LIKE '%is kept'"
            )
    return old


def version_of(study: Path) -> int:
    with duckdb.connect(str(study / "study.duckdb"), read_only=True) as connection:
        return schema.version(connection) or 0


@pytest.fixture(scope="module")
def logs(tmp_path_factory):
    """Ingested logs of all formats, a trial without a log among them."""
    study = tmp_path_factory.mktemp("logs")
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


@pytest.mark.parametrize("version", OLD)
def test_an_older_database_of_logs_comes_to_hold_what_a_new_one_holds(version, logs, tmp_path):
    """One log is named; what the older version left of the others is read again by itself."""
    old = made_by(version, logs, tmp_path / "old")
    ingest_logs(old, [READ], wanted=LogFilter(since=4e9))
    assert tables(old) == tables(logs)


@pytest.mark.parametrize("version", OLD)
def test_an_older_database_of_a_study_comes_to_hold_what_a_new_one_holds(version, trials, tmp_path):
    study = shutil.copytree(trials, tmp_path / "out")
    ingest_trials(study)
    expected = tables(study)
    made_by(version, trials, study)
    ingest_trials(study)
    assert tables(study) == expected


@pytest.mark.parametrize("version", [KEPT_LESS, NEWEST - 1])
def test_naming_the_same_logs_reads_none_of_them_twice(version, logs, tmp_path):
    old = made_by(version, logs, tmp_path / "old")
    again = ingest_logs(old, [GOLDENS])
    assert again == ingest_logs(tmp_path / "fresh", [GOLDENS])
    assert tables(old) == tables(logs)


def test_two_workers_bring_it_to_the_same(logs, tmp_path):
    old = made_by(KEPT_LESS, logs, tmp_path / "old")
    ingest_logs(old, [READ], jobs=2)
    assert tables(old) == tables(logs)


@pytest.mark.parametrize("version", range(KEPT_LESS + 1, NEWEST))
def test_where_the_views_alone_are_new_nothing_is_read_again(version, logs, tmp_path):
    old = made_by(version, logs, tmp_path / "old")
    with open_write(old / "study.duckdb", grow=True) as store:
        assert store.outdated() == set()
    assert tables(old) == tables(logs)
    assert run(old / "study.duckdb", "overview") == run(logs / "study.duckdb", "overview")


def test_what_has_gone_is_kept_as_it_was_and_asked_for_once(tmp_path):
    folder = shutil.copytree(NO_LOG, tmp_path / "t")
    ingest_logs(tmp_path / "new", [folder, READ])
    old = made_by(KEPT_LESS, tmp_path / "new", tmp_path / "old")
    shutil.rmtree(folder)
    ingest_logs(old, [READ])
    assert run(old / "study.duckdb", "SELECT * FROM unlogged_trials").rows == []
    assert run(old / "study.duckdb", "SELECT count(*) FROM sources").rows == [(2,)]
    assert run(old / "study.duckdb", "SELECT count(*) FROM trajectories").rows == [(1,)]


def test_an_ingest_that_was_broken_off_is_no_database_to_ask(logs, tmp_path):
    old = made_by(KEPT_LESS, logs, tmp_path / "old")
    with open_write(old / "study.duckdb", grow=True):
        pass
    with pytest.raises(StoreError, match=r"only partly up to date.*skilljuror ingest"):
        run(old / "study.duckdb", "overview")
    ingest_logs(old, [READ])
    assert tables(old) == tables(logs)


def test_a_source_that_is_none_any_more_is_not_waited_for(tmp_path):
    ingest_logs(tmp_path / "new", [NO_LOG, READ])
    old = made_by(KEPT_LESS, tmp_path / "new", tmp_path / "old")
    with open_write(old / "study.duckdb", grow=True) as store:
        assert store.outdated() == {str(NO_LOG)}
        store.forget((), [str(NO_LOG)])
    assert run(old / "study.duckdb", "SELECT path FROM sources").rows == [(str(READ),)]


@pytest.mark.parametrize("version", OLD)
def test_only_ingest_brings_it_up_to_date(version, logs, trials, tmp_path):
    """A judge would fill up a database whose new columns nobody has read yet."""
    for study in (
        made_by(version, logs, tmp_path / "logs"),
        shutil.copytree(trials, tmp_path / "t"),
    ):
        made_by(version, trials if study.name == "t" else logs, study)
        for refused in (judge_study, lambda study: run(study / "study.duckdb", "overview")):
            with pytest.raises(StoreError, match=r"older than ours.*run `skilljuror ingest`"):
                refused(study)
        assert version_of(study) == version


def test_what_an_assay_keeps_waits_in_the_builds_for_ingest(trials, tmp_path):
    study = made_by(KEPT_LESS, trials, shutil.copytree(trials, tmp_path / "out"))
    with pytest.raises(StoreError, match=r"older than ours.*run `skilljuror ingest`"):
        assay_many([study], AssaySettings(sites=1), keep=True)
    ingest_trials(study)
    kept = run(study / "study.duckdb", "gate_power").records()
    assert {row["kind"] for row in kept} == {"drift", "harmless"}


@pytest.mark.parametrize("version", [KEPT_LESS, NEWEST - 1])
def test_builds_alone_need_no_ingest(version, trials, tmp_path):
    """Nothing was read into such a database, and the build puts its rows anew."""
    path = tmp_path / "study.duckdb"
    with duckdb.connect(str(path)) as connection:
        schema.apply(connection, upto=version)
    with open_write(path) as store:
        store.put_builds(read_builds(StudyFolder(trials).builds, ["tea"]))
    with open_read(path) as reader:
        assert reader.rows("SELECT build FROM builds").rows == [("tea",)]
