"""Worker pools: quiet on Ctrl-C, gone with their parent, and honest about one that died."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from skilljuror.base.errors import WorkerError
from skilljuror.base.workers import map_ordered, map_unordered
from tests.support.places import ROOT
from tests.support.studies import until

MAIN = """\
import sys
from pathlib import Path
from skilljuror.base.workers import map_unordered, map_ordered
from tests.support.programs import stay
if __name__ == "__main__":
    way = {"map_unordered": map_unordered, "map_ordered": map_ordered}[sys.argv[2]]
    try:
        list(way(stay, [Path(sys.argv[1], name) for name in "ab"], 2))
    except KeyboardInterrupt:
        print("stopped")
"""


def twice(number: int) -> int:
    return 2 * number


def die(number: int) -> int:
    os._exit(number)


@pytest.fixture(params=["map_unordered", "map_ordered"])
def started(request, tmp_path):
    """(process, folder of marks): a pool of two workers at work, in a group of its own."""
    marks = tmp_path / "marks"
    marks.mkdir()
    (tmp_path / "main.py").write_text(MAIN)
    process = subprocess.Popen(
        [sys.executable, tmp_path / "main.py", marks, request.param],
        env={**os.environ, "PYTHONPATH": str(ROOT)}, start_new_session=True, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    until(lambda: all(read(marks / name) for name in "ab"))
    return process, marks


def read(path):
    return path.read_text() if path.exists() else ""


def running(pid):
    try:
        state = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


@pytest.mark.slow
def test_ctrl_c_ends_the_work_at_hand_quietly(started):
    process, marks = started
    pids = [int(read(marks / name)) for name in "ab"]
    os.killpg(process.pid, signal.SIGINT)
    assert process.communicate(timeout=20) == ("stopped\n", "")
    assert not [pid for pid in pids if running(pid)]
    assert not list(marks.iterdir()), "the workers cleaned up"


@pytest.mark.slow
def test_workers_go_when_their_parent_is_killed(started):
    process, marks = started
    pids = [int(read(marks / name)) for name in "ab"]
    process.kill()
    process.communicate(timeout=20)
    until(lambda: not [pid for pid in pids if running(pid)])
    assert not list(marks.iterdir()), "the workers cleaned up"


@pytest.mark.slow
@pytest.mark.parametrize("way", [map_unordered, map_ordered])
def test_a_worker_that_dies_is_told(way):
    with pytest.raises(WorkerError, match="a worker process died"):
        list(way(die, [3], 2))


@pytest.mark.slow
@pytest.mark.parametrize("way", [map_unordered, map_ordered])
def test_answers_come_back_with_their_items(way):
    assert sorted(way(twice, range(20), 2)) == [(n, 2 * n) for n in range(20)]
    assert next(iter(way(twice, range(20), 2)))[1] in range(0, 40, 2)
