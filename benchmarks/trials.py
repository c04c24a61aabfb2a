"""What 1,000 trials of one study cost beside the agents: the local sandbox, and Harbor without an engine. Scripted: each
agent writes one line. `python -m benchmarks.trials [--trials 1000] [--harness local|harbor]`; the runner is killed once.

One line for each harness: CPU and wall seconds a trial beside those of a bare shell that does the same work, the runner's
memory at its start and end, and whether the trials that had ended were run again after the kill.
"""

import argparse
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from skilljuror.base.files import StudyFolder
from tests.support.harbor_venv import OPTIONS
from tests.support.harness_tasks import make_task
from tests.support.places import ROOT
from tests.support.studies import edit_study, make_study

TASKS = 50
HARNESSES: dict[str, dict[str, Any]] = {
    "local": {"name": "local", "options": {"isolation": "bwrap"}, "timeout_sec": 20},
    "harbor": {"name": "harbor", "options": OPTIONS, "timeout_sec": 20},
}
BARE = ["bash", "-c", "echo done > out.txt; [ $(cat out.txt) = done ]"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=1000)
    parser.add_argument("--harness", choices=HARNESSES, action="append")
    asked = parser.parse_args()
    for name in asked.harness or HARNESSES:
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
            sys.stdout.write(measured(name, Path(folder), asked.trials) + "\n")
            sys.stdout.flush()


def measured(name: str, folder: Path, trials: int) -> str:
    """The line of one harness."""
    study = make_study(folder, variants={"a": None, "b": "baseline"}, trials=trials // (2 * TASKS))
    tasks = [f"task-{number:02}" for number in range(TASKS)]
    for task in tasks:
        make_task(folder / task)
    edit_study(study, tasks=[{"path": task, "skills": "brew"} for task in tasks], harness=HARNESSES[name])  # fmt: skip
    out = StudyFolder(folder / "out")
    started, before = time.monotonic(), children()
    process = start(study, out.root)
    sizes = [resident(process, 3.0)]
    while len(ended(out)) < trials // 3:
        time.sleep(0.5)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    kept = {trial: out.trial_record(trial).stat().st_mtime_ns for trial in ended(out)}
    for _ in range(30):  # Harbor, which was not killed, ends its trials first
        process = start(study, out.root)
        while process.poll() is None:
            sizes.append(resident(process, 2.0) or sizes[-1])
        if not process.returncode:
            break
        time.sleep(2)
    else:
        raise SystemExit(out.root.with_suffix(".txt").read_text(encoding="utf-8")[-400:])
    wall, cpu = time.monotonic() - started, children() - before
    again = sum(out.trial_record(one).stat().st_mtime_ns != at for one, at in kept.items())
    begun = time.monotonic()
    for _ in range(50):
        subprocess.run(BARE, check=True, cwd=folder)
    bare = (time.monotonic() - begun) / 50
    done = len(ended(out))
    return (
        f"{name}: {done} of {trials} trials in {wall:.0f} s with --jobs 2; a trial takes {wall / done:.2f} s"
        f" ({wall / done / bare:.0f} times a bare shell), {cpu / done:.2f} CPU s; runner {sizes[0]} MiB at its"
        f" start, {max(sizes)} at most; killed after {len(kept)}, of which {again} were run again"
    )


def start(study: Path, out: Path) -> "subprocess.Popen[bytes]":
    words = [sys.executable, "-m", "skilljuror", "run", str(study), "--out", str(out), "-j", "2"]
    with out.with_suffix(".txt").open("ab") as log:
        return subprocess.Popen(
            words, cwd=ROOT, start_new_session=True, stdout=log, stderr=log,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        )  # fmt: skip


def ended(out: StudyFolder) -> list[str]:
    """Trials with a record."""
    return [*out.finished_trials()] if out.root.is_dir() else []


def children() -> float:
    """CPU seconds of all processes that this one waited for."""
    times = os.times()
    return times.children_user + times.children_system


def resident(process: "subprocess.Popen[bytes]", seconds: float) -> int:
    """MiB of a process after some seconds; 0 once it ended."""
    time.sleep(seconds)
    try:
        pages = int(Path(f"/proc/{process.pid}/statm").read_text(encoding="utf-8").split()[1])
    except (OSError, IndexError):
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE") // 2**20


if __name__ == "__main__":
    main()
