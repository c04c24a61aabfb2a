"""Ctrl-C, as a terminal sends it: to every process of the command."""

import json
import os
import signal
import subprocess
import sys
import time


class Started:
    """A command in a process group of its own."""

    def __init__(self, *words, cwd):
        self.process = subprocess.Popen(
            [sys.executable, "-m", "skilljuror", *map(str, words)],
            cwd=cwd, start_new_session=True, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip

    def until(self, met, seconds=30.0):
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
        said, told = self.process.communicate(timeout=30)
        return self.process.returncode, said, told, time.monotonic() - begun


def test_ctrl_c_while_it_starts_is_no_traceback(tmp_path):
    for delay in (0.05, 0.15, 0.3):
        started = Started("doctor", cwd=tmp_path)
        time.sleep(delay)
        status, _, told, _ = started.stop()
        assert "skilljuror/cli" not in told, "a traceback through our own code"
        assert status in (130, -signal.SIGINT)


def test_ctrl_c_stops_the_demo_and_leaves_whole_records(tmp_path):
    study = tmp_path / "out" / "demo"
    started = Started("demo", cwd=tmp_path)
    started.until(lambda: len(list(study.glob("trials/*/trial.json"))) >= 2)
    status, said, told, seconds = started.stop()
    assert (status, said) == (130, "")
    assert told.splitlines()[-1].startswith("skilljuror: stopped")
    assert "Traceback" not in told
    assert seconds < 5
    assert not started.group()
    assert not (study / "study.duckdb").exists()
    for record in study.glob("trials/*/trial.json"):
        json.loads(record.read_text())
    assert not list(study.glob("trials/.*"))
