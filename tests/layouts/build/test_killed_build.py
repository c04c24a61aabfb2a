"""A build that is killed at any moment leaves the old build or the new one, whole."""

import random
import subprocess
import sys
import time

import pytest

from skilljuror.layouts.build.build import load_build
from skilljuror.layouts.verify import verify_build
from tests.support.bundle_corpus import write

pytestmark = pytest.mark.slow

ENDLESS = """
import sys
from pathlib import Path
from skilljuror.layouts.build.build import build_source
turn = 0
while True:
    variants = (("origin", "baseline"), ("origin", "baseline", "pd"))[turn % 2]
    build_source(Path(sys.argv[1]), Path(sys.argv[2]), variants=variants)
    print(turn, flush=True)
    turn += 1
"""
KILLS = 12


@pytest.mark.timeout(900)
def test_a_kill_leaves_one_whole_build(tmp_path):
    source = write("report", tmp_path) / "csv-report"
    target = tmp_path / "builds" / "out"
    chance = random.Random(7)
    seen = set()
    for _ in range(KILLS):
        with subprocess.Popen(
            [sys.executable, "-c", ENDLESS, source, target], stdout=subprocess.PIPE
        ) as process:
            assert process.stdout is not None
            process.stdout.readline()
            time.sleep(chance.uniform(0, 0.6))
            process.kill()
        there = target if target.exists() else target.parent / f".{target.name}.old"
        assert verify_build(there).proved
        seen.add(tuple(one.variant for one in load_build(there).variants))
    assert seen <= {("baseline", "origin"), ("baseline", "origin", "pd")}
