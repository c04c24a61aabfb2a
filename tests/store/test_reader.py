"""A Ctrl-C stops a question, also where DuckDB notices it first or would forget it."""

import subprocess
import sys

import pytest

LONG = "SELECT sum(a.range * b.range) FROM range(1000000) a, range(1000000) b"
BEGIN = """\
import signal, sys, threading, time
from pathlib import Path
from skilljuror.store import open_read, open_write
path, long = Path(sys.argv[1]), sys.argv[2]
def soon(seconds):
    main = threading.main_thread().ident
    threading.Timer(seconds, signal.pthread_kill, [main, signal.SIGINT]).start()
with open_write(path):
    pass
try:
    with open_read(path) as reader:
        READING
except KeyboardInterrupt:
    print("stopped")
"""
PLACES = {
    "while a question is answered": "soon(0.3); reader.rows(long)",
}


@pytest.mark.parametrize("place", PLACES)
def test_a_ctrl_c_stops_a_question(tmp_path, place):
    code = BEGIN.replace("READING", PLACES[place])
    done = subprocess.run(
        [sys.executable, "-c", code, tmp_path / "a.duckdb", LONG],
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert (done.stdout, done.stderr) == ("stopped\n", "")
