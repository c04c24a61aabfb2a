"""Names that are no UTF-8 are kept byte by byte, and what is no UTF-8 inside is called that."""

import json
import os
import shutil
from pathlib import Path

import pytest

from skilljuror import open_study
from skilljuror.base.files import path_of, path_text
from tests.support.cli_process import SKILL, call, complaint
from tests.support.places import ROOT

ODD = os.fsdecode(b"caf\xe9-\xff")
SESSION = next((ROOT / "trajectories" / "codex-rollout").rglob("*.jsonl"))
STREAM = ROOT / "trajectories" / "mini-swe-agent"


@pytest.mark.parametrize("text", ["/a/b.jsonl", "a b/ü", "file:/x", "/a/%E9", "/a/\\xe9"])
def test_a_path_in_utf_8_is_kept_as_it_is(text):
    assert path_text(Path(text)) == text
    assert path_of(text) == Path(text)


@pytest.mark.parametrize(
    "name", [b"/caf\xe9", b"/a%E9\xe9", b"/\xff/\\xff #?", "/ü".encode() + b"\xfe"]
)
def test_any_other_path_comes_back_byte_by_byte(name):
    text = path_text(Path(os.fsdecode(name)))
    assert text.isascii()
    assert os.fsencode(path_of(text)) == name


@pytest.fixture
def logs(tmp_path):
    """Logs with and without a session id, in a folder and under names that are no UTF-8."""
    folder = tmp_path / ODD
    folder.mkdir()
    for log in (SESSION, *STREAM.rglob("*.json")):
        shutil.copy(log, folder / f"{ODD}-{log.name}")
    return folder


@pytest.mark.slow
def test_a_study_and_logs_with_such_names(logs, tmp_path):
    """Everything that finds the logs again finds them, and a second ingest changes nothing."""
    study = tmp_path / f"study-{ODD}"
    plain = tmp_path / "plain"
    shutil.copytree(logs, tmp_path / "ascii")
    first = call("ingest", logs, "--study", study)
    assert first.returncode == 0, first.stderr
    assert call("ingest", tmp_path / "ascii", "--study", plain).returncode == 0
    sources = rows(study, "SELECT path FROM sources ORDER BY path")
    assert {path_of(row["path"]) for row in sources} == set(logs.iterdir())
    runs = rows(study, "SELECT trajectory, source FROM trajectories ORDER BY trajectory")
    assert len(runs) >= 2
    assert all(path_of(row["source"]).exists() for row in runs)
    counts = "SELECT (SELECT count(*) FROM events) e, (SELECT count(*) FROM steps) s"
    assert rows(study, counts) == rows(plain, counts)
    assert call("ingest", logs, "--study", study).returncode == 0
    assert rows(study, "SELECT trajectory, source FROM trajectories ORDER BY trajectory") == runs
    judged = json.loads(call("judge", study, "--json").stdout)
    assert judged["unread"] == []
    assert judged["trajectories"] == len(runs)
    shown = call("show", study, runs[0]["trajectory"], "--json")
    assert json.loads(shown.stdout)["trajectory"]["steps"]
    assert call("report", study).returncode == 0
    for form in ("csv", "parquet"):
        out = tmp_path / f"{ODD}.{form}"
        assert call("query", study, "sources", "--format", form, "--out", out).returncode == 0
        assert out.stat().st_size


def rows(study, sql):
    return open_study(study).query(sql).to_dict("records")


def test_events_name_the_log(logs):
    done = call("events", logs)
    assert done.returncode == 0, done.stderr
    for line in done.stdout.splitlines():
        assert path_of(json.loads(line)["source"]).exists()


ENCODINGS = {"UTF-16": "utf-16", "UTF-16 big": "utf-16-be", "latin-1": "latin-1"}


@pytest.mark.parametrize("encoding", ENCODINGS.values(), ids=ENCODINGS.keys())
def test_a_root_in_another_encoding_is_called_that(encoding, tmp_path):
    (tmp_path / "tea").mkdir()
    (tmp_path / "tea" / "SKILL.md").write_bytes(SKILL.replace("sales", "café").encode(encoding))
    audit = ("audit", "tea", "tea")
    for words in (("build", "tea", "--out", "o"), audit):
        line = complaint(call(*words, cwd=tmp_path))
        assert "'tea/SKILL.md' is " in line
        assert "UTF-16" in line if encoding == "utf-16" else "not UTF-8" in line
        assert "no SKILL.md" not in line
