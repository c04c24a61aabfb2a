"""One stage of reading logs in a process of its own: time, processor time, memory.

    python -m benchmarks.stages STAGE FOLDER [--jobs N]

Prints one JSON object. Everything that a user waits for is in it: start-up, finding the files,
the work, the end.
"""

import argparse
import json
import resource
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.corpus import logs

KIB = 1024
LOOK_SECONDS = 0.1


def bare(folder: Path, jobs: int) -> int:
    """orjson over every line; the number of files."""
    from benchmarks.bare import decode_all

    found = logs(folder)
    decode_all(found, jobs)
    return len(found)


def parse(folder: Path, jobs: int) -> int:
    """Find and parse; the number of runs."""
    from benchmarks.work import parsed, read_all

    return read_all(parsed, folder, jobs)


def attribute(folder: Path, jobs: int) -> int:
    """Find, parse and attribute; the number of runs."""
    from benchmarks.work import attributed, read_all

    return read_all(attributed, folder, jobs)


def ingest(folder: Path, jobs: int) -> int:
    """The real ingest into a new database; the number of runs counted."""
    from skilljuror.store.logs import ingest_logs

    with TemporaryDirectory() as study:
        return ingest_logs(Path(study), [folder], jobs=jobs).trajectories


def again(folder: Path, jobs: int) -> int:
    """An ingest into the database of the one before, which stays beside the logs; the number of runs
    held."""
    from skilljuror.store.logs import ingest_logs

    study = folder.with_name(f"{folder.name}-study")
    return ingest_logs(study, [folder], jobs=jobs).trajectories


def tokens(folder: Path, jobs: int) -> int:
    """Find, parse and count the tokens of every step exactly; the number of runs."""
    from benchmarks.work import counted, read_all

    return read_all(counted, folder, jobs)


STAGES: dict[str, Callable[[Path, int], int]] = {
    "bare": bare,
    "parse": parse,
    "attribute": attribute,
    "ingest": ingest,
    "again": again,
    "tokens": tokens,
}


class Peak(threading.Thread):
    """Watches how much memory the workers take at most; their own count, where /proc has it."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self._peaks: dict[str, int] = {}
        """Process -> its peak when looked at last: one just begun still tells its parent's."""

    @property
    def kib(self) -> int:
        """The highest peak of any worker."""
        return max(self._peaks.values(), default=0)

    def run(self) -> None:
        """Look again and again until the process ends."""
        while True:
            for child in _children():
                if peak := _peak_of(child):
                    self._peaks[child] = peak
            time.sleep(LOOK_SECONDS)


def _children() -> list[str]:
    lists = Path("/proc/self/task").glob("*/children")
    return [child for one in lists for child in _text(one).split()]


def _peak_of(process: str) -> int:
    lines = _text(Path("/proc", process, "status")).splitlines()
    return next((int(line.split()[1]) for line in lines if line.startswith("VmHWM:")), 0)


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError:
        return ""


def main() -> int:
    """The command line."""
    options = argparse.ArgumentParser(prog="python -m benchmarks.stages", description=__doc__)
    options.add_argument("stage", choices=STAGES)
    options.add_argument("folder", type=Path)
    options.add_argument("--jobs", type=int, default=2)
    asked = options.parse_args()
    peak = Peak()
    peak.start()
    begun = time.perf_counter()
    count = STAGES[asked.stage](asked.folder, asked.jobs)
    seconds = time.perf_counter() - begun
    own = resource.getrusage(resource.RUSAGE_SELF)
    workers = resource.getrusage(resource.RUSAGE_CHILDREN)
    found = {
        "count": count,
        "seconds": seconds,
        "processor": sum(one.ru_utime + one.ru_stime for one in (own, workers)),
        "main_mib": own.ru_maxrss / KIB,
        "worker_mib": peak.kib / KIB,
    }
    json.dump(found, sys.stdout)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
