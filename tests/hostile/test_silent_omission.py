"""What cannot be read is told, wherever it lies: a row with its reason, and exit status 1 of a strict ingest."""

import json
import shutil

import pytest

from tests.support.cli_process import call
from tests.support.hostile_machines import locked, ordinary_user
from tests.support.places import ROOT
from tests.support.studies import run_example

pytestmark = pytest.mark.slow

LOG = next((ROOT / "trajectories" / "codex-rollout").rglob("*.jsonl"))
ERRORS = "SELECT path, reason FROM sources WHERE status = 'error' ORDER BY path"


@pytest.fixture
def logs(tmp_path):
    """A folder with one good log in each of two folders."""
    for name in ("open", "shut"):
        (tmp_path / "logs" / name).mkdir(parents=True)
        shutil.copy(LOG, tmp_path / "logs" / name)
    return tmp_path / "logs"


def errors_of(study):
    return json.loads(call("query", study, ERRORS, "--json").stdout)


@pytest.mark.parametrize("place", ["logs/shut", f"logs/shut/{LOG.name}"], ids=["folder", "log"])
def test_what_nobody_may_read_in_a_folder_of_logs(place, logs, tmp_path):
    user = ordinary_user(tmp_path)
    with locked(tmp_path / place):
        done = call("ingest", "logs", "--strict", "--study", "out", cwd=tmp_path, under=user)
    assert done.returncode == 1, done.stdout
    assert "1 file read" in done.stdout
    assert f"error: {tmp_path / place}: cannot be read: Permission denied" in done.stdout
    (row,) = errors_of(tmp_path / "out")
    assert row == {"path": str(tmp_path / place), "reason": "cannot be read: Permission denied"}


def test_an_unread_log_is_named_once(tmp_path):
    log = tmp_path / "empty.jsonl"
    log.write_text(
        '{"type":"session_meta","timestamp":"2026-01-01T00:00:00Z","payload":{"id":"a","cwd":"/x"}}\n'
    )
    done = call("ingest", log, "--study", "out", cwd=tmp_path)
    assert "0 files read, 0 duplicates, 0 skipped, 1 error\n" in done.stdout
    (line,) = (one for one in done.stdout.splitlines() if one.startswith("  error: "))
    assert line.startswith(f"  error: '{log}' has no message")
    assert line.count("empty.jsonl") == 1


@pytest.mark.parametrize("place", ["logs/shut", f"logs/shut/{LOG.name}"], ids=["folder", "log"])
def test_what_was_read_before_is_kept(place, logs, tmp_path):
    user = ordinary_user(tmp_path)
    (logs / "shut" / LOG.name).write_bytes(LOG.read_bytes().replace(b"019", b"020"))
    runs = "SELECT count(*) AS runs FROM trajectories"
    assert call("ingest", "logs", "--study", "out", cwd=tmp_path).returncode == 0
    before = call("query", "out", runs, "--json", cwd=tmp_path).stdout
    with locked(tmp_path / place):
        assert call("ingest", "logs", "--study", "out", cwd=tmp_path, under=user).returncode == 0
    assert call("query", "out", runs, "--json", cwd=tmp_path).stdout == before


def test_events_tell_it_too(logs, tmp_path):
    user = ordinary_user(tmp_path)
    with locked(logs / "shut"):
        done = call("events", "logs", cwd=tmp_path, under=user)
    assert done.returncode == 1
    assert "logs/shut" in done.stderr
    assert "Permission denied" in done.stderr


BROKEN = {
    "one line that was cut": b'{"type": "session_meta", "payload": {"id": "01',
    "a broken line among others": b'{"a": 1}\nbroken\n{"b": 2}\n',
}


@pytest.mark.parametrize("data", BROKEN.values(), ids=BROKEN.keys())
def test_a_broken_log_in_a_folder(data, logs, tmp_path):
    (logs / "open" / "broken.jsonl").write_bytes(data)
    done = call("ingest", "logs", "--strict", "--study", "out", cwd=tmp_path)
    assert done.returncode == 1
    assert "broken.jsonl: damaged: line" in done.stdout


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    """A study that was run."""
    return run_example(tmp_path_factory.mktemp("study"))


@pytest.mark.slow
@pytest.mark.parametrize("place", ["raw", "raw/agent", "raw/agent/trajectory.json"])
def test_a_log_of_a_study_that_nobody_may_read(place, study):
    user = ordinary_user(study.parent)
    trial = sorted((study / "trials").iterdir())[0]
    with locked(trial / place):
        done = call("ingest", "--study", study, under=user)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "2 trajectories" in done.stdout
    assert f"error: {trial}/raw/agent" in done.stdout
    assert "cannot be read: Permission denied" in done.stdout
    (row,) = errors_of(study)
    assert row["reason"] == "cannot be read: Permission denied"
