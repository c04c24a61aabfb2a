"""Ctrl-C, as a terminal sends it: to every process of the command."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from skilljuror.store import open_write
from tests.support.cli_process import complaint


class Started:
    """A command in a process group of its own."""

    def __init__(self, *words, cwd):
        self.process = subprocess.Popen(
            [sys.executable, "-m", "skilljuror", *map(str, words)],
            cwd=cwd, start_new_session=True, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip

    def until(self, met, seconds=120.0):
        limit = time.monotonic() + seconds
        while not met():
            assert self.process.poll() is None, self.process.communicate()
            assert time.monotonic() < limit, "it did not happen"
            time.sleep(0.01)

    def group(self):
        """Processes of the group that still run."""
        found = subprocess.run(
            ["ps", "-o", "stat=", "-g", str(self.process.pid)],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        return [state for state in found.stdout.split() if not state.startswith("Z")]

    def stop(self, number=signal.SIGINT):
        """(exit status, stdout, stderr, seconds it took)."""
        begun = time.monotonic()
        os.killpg(self.process.pid, number)
        said, told = self.process.communicate(timeout=60)
        return self.process.returncode, said, told, time.monotonic() - begun


WHILE_IT_STARTS = """\
import sys
class CtrlC:
    def find_spec(self, name, path=None, target=None):
        if name == "typer":
            raise KeyboardInterrupt
sys.meta_path.insert(0, CtrlC())
sys.argv = ["skilljuror", "audit", "--rules"]
from skilljuror.cli.main import main
main()
"""


def test_ctrl_c_while_it_starts_is_no_traceback():
    """At a chosen moment: half a second goes into imports before any command begins."""
    done = subprocess.run(
        [sys.executable, "-c", WHILE_IT_STARTS], capture_output=True, text=True, check=False
    )
    assert complaint(done, status=130).startswith("skilljuror: stopped")


@pytest.fixture
def start(tmp_path):
    """Starts commands in a folder of their own; none of them outlives the test."""
    started = []

    def begin(*words):
        started.append(Started(*words, cwd=tmp_path))
        return started[-1]

    yield begin
    for one in started:
        if one.process.poll() is None:
            one.stop(signal.SIGKILL)


@pytest.mark.slow
def test_ctrl_c_stops_the_demo_and_leaves_whole_records(tmp_path, start):
    study = tmp_path / "out" / "demo"
    started = start("demo")
    started.until(lambda: len(list(study.glob("trials/*/trial.json"))) >= 2)
    status, said, told, seconds = started.stop()
    assert (status, said) == (130, "")
    assert told.splitlines()[-1].startswith("skilljuror: stopped")
    assert "Traceback" not in told
    assert seconds < 20  # a demo takes longer, on a busy machine too
    assert not started.group()
    assert not (study / "study.duckdb").exists()
    for record in study.glob("trials/*/trial.json"):
        json.loads(record.read_text())
    assert not list(study.glob("trials/.*"))


LONG = "SELECT sum(a.range * b.range) FROM range(1000000) a, range(1000000) b"


@pytest.mark.slow
@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_ctrl_c_stops_a_long_question(tmp_path, start, form):
    """DuckDB computes for hours here; it must not hold the signal back."""
    with open_write(tmp_path / "study.duckdb"):
        pass
    started = start("query", ".", LONG, "--format", form, "--out", "rows")
    started.until(lambda: computes(started.process.pid))
    status, said, told, seconds = started.stop()
    assert (status, said) == (130, "")
    assert told.startswith("skilljuror: stopped")
    assert seconds < 20  # the question takes hours
    assert not (tmp_path / "rows").exists()


def computes(pid):
    """Whether the question is on its way: the process has the database open."""
    return any(goal(link) == "study.duckdb" for link in Path(f"/proc/{pid}/fd").iterdir())


def goal(link):
    try:
        return link.readlink().name
    except FileNotFoundError:  # closed in the meantime
        return ""
