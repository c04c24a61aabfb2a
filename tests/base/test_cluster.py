"""Calls on a real Ray cluster of this machine, of several processes."""

import subprocess
import sys
from importlib.util import find_spec

import pytest

from skilljuror.base.cluster import map_on_ray
from skilljuror.base.errors import UsageError
from tests.support.cli_process import call, complaint
from tests.support.on_ray import FOLDERS, refuse
from tests.support.places import ROOT
from tests.support.sharded import everything, ingested

pytestmark = pytest.mark.slow
needs_ray = pytest.mark.skipif(
    find_spec("ray") is None, reason="Ray is not installed: it has no wheel for this Python"
)


def driver(*words):
    """A program of its own, because Ray leaves processes of its own in this one."""
    return subprocess.run(
        [sys.executable, "-m", "tests.support.on_ray", *map(str, words)],
        cwd=ROOT, capture_output=True, text=True,
    )  # fmt: skip


@needs_ray
def test_a_worker_that_is_killed_in_the_middle_changes_no_row(tmp_path):
    done = driver("kill", tmp_path / "many")
    assert done.returncode == 0, done.stderr
    one = ingested(tmp_path / "one", FOLDERS, 0)
    assert everything(tmp_path / "many") == everything(one)


@needs_ray
def test_what_a_call_raises_is_raised():
    assert driver("refuse").stdout == "7 is refused; use another\n"


@needs_ray
def test_shards_are_read_and_judged_by_two_commands(tmp_path):
    paths = [*FOLDERS, "--study", "fleet", "--shards", "2", "--engine", "ray"]
    done = call("ingest", *paths, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert [line.split()[0] for line in done.stdout.splitlines()[2:4]] == ["1-of-2", "2-of-2"]
    judged = call("judge", "fleet", "--engine", "ray", cwd=tmp_path)
    assert judged.returncode == 0, judged.stderr
    again = call("judge", "fleet", cwd=tmp_path)  # without a cluster, one after the other
    assert again.stdout == judged.stdout


def test_a_cluster_without_tokens_is_refused(monkeypatch):
    monkeypatch.setenv("RAY_ADDRESS", "127.0.0.1:6379")
    monkeypatch.delenv("RAY_AUTH_MODE", raising=False)
    with pytest.raises(UsageError, match="must use tokens"):
        list(map_on_ray(refuse, [7]))


def test_without_ray_the_extra_is_named(tmp_path):
    script = "import runpy, sys; sys.modules['ray'] = None; runpy.run_module('skilljuror', run_name='__main__')"
    words = ["ingest", str(FOLDERS[0]), "--study", "s", "--shards", "2", "--engine", "ray"]
    done = subprocess.run(
        [sys.executable, "-c", script, *words], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 2
    assert "pip install 'skilljuror[ray]'" in complaint(done)


def test_an_engine_needs_shards(tmp_path):
    done = call("ingest", FOLDERS[0], "--study", "s", "--engine", "ray", cwd=tmp_path)
    assert "--engine needs --shards" in complaint(done)
