"""Whatever a file, a folder or the machine does: one line that says so, and never a fault of ours."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest

from tests.support.cli_process import call, complaint, error, write_skill
from tests.support.hostile_machines import locked, ordinary_user, room_for
from tests.support.places import ROOT

LOGS = ROOT / "trajectories"
SKILLS = sorted(map(str, (ROOT / "examples" / "skills").iterdir()))

UNREADABLE = {
    "a study file": ("run", "z/study.yaml"),
    "a log": ("ingest", "z/a.jsonl", "--study", "out"),
    "a log of events": ("events", "z/a.jsonl"),
    "a source": ("build", "z/skill", "--out", "o"),
    "a place for the demo": ("demo", "--out", "z/demo"),
    "a study to fill": ("ingest", "logs", "--study", "z/out"),
    "a folder": ("report", "z"),
}


@pytest.mark.slow
@pytest.mark.parametrize("words", UNREADABLE.values(), ids=UNREADABLE.keys())
def test_a_folder_that_nobody_may_enter(words, tmp_path):
    (tmp_path / "logs").mkdir()
    user = ordinary_user(tmp_path)
    with locked(tmp_path / "z"):
        told = complaint(call(*words, cwd=tmp_path, under=user))
    assert "internal error" not in told
    assert "'z" in told
    assert "permission" in told or "not readable" in told


STUDY = "name: odd\ntasks: [{path: tea}]\nconditions: [{name: bare}]\n"


@pytest.mark.slow
@pytest.mark.parametrize("raised", ["RecursionError", "MemoryError", "RuntimeError(\"can't start new thread\")"])  # fmt: skip
def test_a_limit_of_the_machine_is_no_fault(raised, tmp_path):
    (tmp_path / "plugin.py").write_text(f"raise {raised}\n")
    (tmp_path / "study.yaml").write_text(STUDY + 'agent: {name: "plugin:Agent"}\n')
    env = {**os.environ, "PYTHONPATH": f"{tmp_path}:{os.environ.get('PYTHONPATH', '')}"}
    line = complaint(call("run", "study.yaml", cwd=tmp_path, env=env))
    assert "nested" in line or "memory" in line


@pytest.mark.slow
@pytest.mark.parametrize("encoding", ["latin-1", "ascii", "utf-8"])
def test_any_encoding_of_the_terminal(encoding, tmp_path):
    """The names are Chinese, a smiley beyond 16 bits, and bytes that are no text at all."""
    env = {**os.environ, "PYTHONIOENCODING": encoding, "PYTHONUTF8": "0"}
    for name in ("案", "😀", os.fsdecode(b"caf\xe9")):
        assert "no study at" in complaint(call("show", name, "x", cwd=tmp_path, env=env))
        done = call("show", name, "x", "--json", cwd=tmp_path, env=env)
        assert name in error(done)["message"].replace("\\udce9", "\udce9")
    assert call("query", "x", env=env, cwd=tmp_path).returncode == 0  # lists the questions
    write_skill(tmp_path / "案")
    done = call("audit", "--kind", "baseline", "案", "案", env=env, cwd=tmp_path)
    assert done.returncode in {0, 1, 3}, done.stderr


@pytest.mark.slow
def test_json_is_json_in_any_encoding(tmp_path):
    log = tmp_path / "日志😀.txt"
    log.write_text("no log")
    env = {**os.environ, "PYTHONIOENCODING": "ascii"}
    done = call("ingest", log, "--study", "out", "--json", cwd=tmp_path, env=env)
    assert json.loads(done.stdout)["failures"][0][0] == str(log)


FULL = {
    "the new database": (100, "study.duckdb.new"),
    "the database at its end": (1_000, "study.duckdb.new"),
}


@pytest.mark.slow
@pytest.mark.parametrize(("kilobytes", "named"), FULL.values(), ids=FULL.keys())
def test_a_full_disk_loses_nothing(kilobytes, named, tmp_path):
    """What is told names the file that found no room, and the same command goes on with room."""
    study = tmp_path / "out"
    line = complaint_at_last(call("ingest", LOGS, "--study", study, under=room_for(kilobytes)))
    assert named in line
    assert "File too large" in line
    assert "free disk space and rerun the command" in line
    assert "anew" not in line
    assert "delete" not in line
    assert not (study / "study.duckdb").exists()
    assert call("ingest", LOGS, "--study", study).returncode == 0
    runs = "SELECT count(*) AS runs FROM trajectories"
    (row,) = json.loads(call("query", study, runs, "--json").stdout)
    assert row["runs"] >= 20


def complaint_at_last(done):
    """The last line on stderr of a command that refused after it had begun."""
    assert done.returncode == 2, done.stdout + done.stderr
    assert done.stdout == ""
    line = done.stderr.strip().splitlines()[-1]
    assert line.startswith("skilljuror: ")
    return line


@pytest.mark.slow
@pytest.mark.parametrize("words", [("build", *SKILLS, "--out", "out", "-j", "2"), ("demo", "-j", "2")], ids=["build", "demo"])  # fmt: skip
def test_sigterm_is_told_in_one_line(words, tmp_path):
    """To the command alone, as `kill` and supervisors send it."""
    command = [sys.executable, "-m", "skilljuror", *map(str, words)]
    started = subprocess.Popen(
        command, cwd=tmp_path, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    while not has_workers(started.pid):
        assert started.poll() is None
        time.sleep(0.01)
    started.send_signal(signal.SIGTERM)
    said, told = started.communicate(timeout=30)
    assert (started.returncode, said) == (143, "")
    assert told.splitlines()[-1].startswith("skilljuror: stopped")
    assert "resource_tracker" not in told
    assert "Traceback" not in told


@pytest.mark.slow
@pytest.mark.parametrize("threads", [0, 1])
def test_a_stop_while_a_worker_is_spawned_is_told_in_one_line(threads, tmp_path):
    """A worker that is there and was not told its work yet complained with a traceback of its own. A
    thread, such as one of a library, takes the signal that the main thread blocks."""
    script = (
        "import os, signal, threading, time, multiprocessing.util as util\n"
        f"for _ in range({threads}):\n"
        "    threading.Thread(target=time.sleep, args=[60], daemon=True).start()\n"
        "spawn = util.spawnv_passfds\n"
        "def and_stop(path, words, handles):\n"
        "    started = spawn(path, words, handles)\n"
        "    if 'spawn_main' in str(words):\n        os.kill(os.getpid(), signal.SIGTERM)\n"
        "        time.sleep(0.1)\n"
        "    return started\n"
        "util.spawnv_passfds = and_stop\n"
        "from skilljuror.cli.main import main\nmain()\n"
    )
    command = [sys.executable, "-c", script, "build", *SKILLS, "--out", "out", "-j", "2"]
    done = subprocess.run(command, cwd=tmp_path, text=True, capture_output=True, check=False)
    assert done.returncode == 143
    assert done.stderr.splitlines()[-1].startswith("skilljuror: stopped")
    assert "Traceback" not in done.stderr


def test_a_command_that_tells_of_its_stop_itself_was_terminated_all_the_same():
    """As `run` does, which says how to go on."""
    script = (
        "import os, signal, skilljuror.cli.app as app\n"
        "def run(words):\n"
        "    try:\n        os.kill(os.getpid(), signal.SIGTERM)\n"
        "    except KeyboardInterrupt:\n        return 130\n"
        "app.run = run\n"
        "from skilljuror.cli.main import main\nmain()\n"
    )
    done = subprocess.run([sys.executable, "-c", script], check=False)
    assert done.returncode == 143


def has_workers(pid):
    """Whether the process has started others: the tracker of shared resources, and workers."""
    found = subprocess.run(["ps", "-o", "pid=", "--ppid", str(pid)], capture_output=True, text=True, check=False)  # fmt: skip
    return len(found.stdout.split()) >= 2
