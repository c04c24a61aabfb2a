"""Kill -9 while people decide: what was reported is there, and the store goes on."""

import os
import signal
import subprocess
import sys
import time

import pytest

from skilljuror.review.desk import StudyDesk
from tests.support.places import ROOT
from tests.support.reviewed_builds import SKILL, doubtful_build

pytestmark = pytest.mark.slow

DECIDE = """\
import sys
from pathlib import Path
from skilljuror.review.desk import StudyDesk
desk = StudyDesk(Path(sys.argv[1]))
item = desk.queue("Ann", False)[0].id
for number in range(100_000):
    desk.decide(sys.argv[2], item, "reject", f"reason {number}", False)
    print(number, flush=True)
"""
WRITERS = ("Ann", "Bob", "Cid")


def start(build, name):
    return subprocess.Popen(
        [sys.executable, "-c", DECIDE, build, name],
        env={**os.environ, "PYTHONPATH": str(ROOT)}, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip


def test_nothing_that_was_reported_is_lost(tmp_path):
    doubtful_build(tmp_path, SKILL)
    build = tmp_path / "out"
    reported = dict.fromkeys(WRITERS, 0)
    for pause in (0.0, 0.05, 0.4):
        writers = {name: start(build, name) for name in WRITERS}
        for writer in writers.values():
            assert writer.stdout.readline() == "0\n"
        time.sleep(pause)
        for writer in writers.values():
            writer.send_signal(signal.SIGKILL)
        for name, writer in writers.items():
            with writer:
                reported[name] += 1 + writer.stdout.read().count("\n")
    lines = (build / "reviews.jsonl").read_text().splitlines()
    for name, count in reported.items():
        kept = [line for line in lines if f'"by":"{name}"' in line and line.endswith("}")]
        assert count <= len(kept) <= count + 3, "all reported, and at most the one in flight"
    desk = StudyDesk(build)
    assert {by for by, _ in desk.answers()} == set(WRITERS)
    assert desk.undo("Ann") is not None
