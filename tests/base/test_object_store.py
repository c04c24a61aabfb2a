"""Shards in an object store: a real server of the S3 protocol on this machine."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from moto.server import ThreadedMotoServer
from s3fs import S3FileSystem

from skilljuror.base.files import StudyFolder
from skilljuror.base.object_store import address
from tests.support.cli_process import call, complaint
from tests.support.on_ray import FOLDERS
from tests.support.sharded import everything, ingested

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def store():
    """The server's files, and the variables that name it."""
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    keys = {"AWS_ACCESS_KEY_ID": "scripted", "AWS_SECRET_ACCESS_KEY": "scripted"}
    names = {
        **keys,
        "AWS_ENDPOINT_URL": f"http://{host}:{port}",
        "AWS_MAX_ATTEMPTS": "1",
        "NO_PROXY": "127.0.0.1",
    }
    with pytest.MonkeyPatch.context() as patch:
        for name, value in names.items():
            patch.setenv(name, value)
        files = S3FileSystem()
        files.mkdir("bucket")
        yield files
    server.stop()


@pytest.fixture(scope="module")
def fleet(store, tmp_path_factory):
    """The same shards in a folder and in the store."""
    folder = ingested(tmp_path_factory.mktemp("many") / "fleet", FOLDERS, 3)
    store.put(str(folder), "bucket/", recursive=True)
    return folder


REMOTE = Path("s3://bucket/fleet")


def test_an_address_is_not_a_path_of_this_machine():
    assert address(REMOTE) == "s3://bucket/fleet"
    assert [address(Path(one)) for one in ("fleet", "/a/s3:/b", "C:/logs", "s3:")] == [""] * 4


def test_every_table_and_answer_is_that_of_the_shards_in_a_folder(fleet):
    assert everything(REMOTE) == everything(fleet)


def test_a_question_is_answered_and_one_shard_alone_too(fleet):
    whole = call("query", "s3://bucket/fleet", "skills_opened", "--format", "csv")
    assert whole.stdout == call("query", fleet, "skills_opened", "--format", "csv").stdout
    one = call("query", "s3://bucket/fleet/2-of-3", "source_counts", "--format", "csv")
    local = call("query", fleet / "2-of-3", "source_counts", "--format", "csv")
    assert one.returncode == 0
    assert one.stdout == local.stdout


def test_no_statement_reads_another_object(fleet):
    sql = "SELECT * FROM read_text('object://s3://bucket/fleet/1-of-3/sources.jsonl')"
    assert "disabled by configuration" in complaint(call("query", "s3://bucket/fleet", sql))


def test_a_missing_shard_is_named(fleet, store):
    store.copy("bucket/fleet/1-of-3/study.duckdb", "bucket/holes/1-of-3/study.duckdb")
    done = call("query", "s3://bucket/holes", "source_counts")
    assert "shards 2, 3 of 3 are missing" in complaint(done)
    assert call("query", "s3://bucket/holes", "source_counts", "--partial").returncode == 0


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("query", "s3://bucket/none", "outcomes"), "no study at 's3://bucket/none'"),
        (("query", "gs://bucket/fleet", "outcomes"), "install gcsfs"),
        (("report", "s3://bucket/fleet"), "only query, usage and open_study read"),
    ],
)
def test_what_cannot_be_read_is_one_line(words, told, store):
    assert told in complaint(call(*words))


def test_without_the_library_its_extra_is_named(tmp_path):
    script = "import runpy, sys; sys.modules['fsspec'] = None; runpy.run_module('skilljuror', run_name='__main__')"
    words = [sys.executable, "-c", script, "query", "s3://bucket/fleet", "outcomes"]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True)
    assert "pip install 'skilljuror[s3]'" in complaint(done)


def test_a_store_that_does_not_answer_is_one_line(fleet, monkeypatch):
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    done = call("query", "s3://bucket/fleet", "outcomes")
    assert "'s3://bucket/fleet/*-of-*' cannot be read: Could not connect" in complaint(done)


def test_a_torn_object_is_one_line(fleet, store, tmp_path):
    torn = tmp_path / "study.duckdb"
    shutil.copy(StudyFolder(fleet / "1-of-3").database, torn)
    with torn.open("r+b") as file:
        file.truncate(100_000)
    store.put(str(torn), "bucket/torn/1-of-1/study.duckdb")
    assert "s3:/bucket/torn" in complaint(call("query", "s3://bucket/torn", "skills_opened"))
