"""Two trials try to talk to each other, and to the operator, through all that namespaces do not part."""

import sys

import pytest

from skilljuror.base.errors import HarnessError
from skilljuror.harness.local import LocalHarness
from skilljuror.harness.sandbox import syscall_filter, unsealed
from tests.support.as_user import WHO, told_by
from tests.support.harness_tasks import make_job, make_task, needs_bwrap

pytestmark = [
    needs_bwrap,
    pytest.mark.skipif(bool(unsealed()), reason=f"this machine lacks {', '.join(unsealed())}"),
]
SOCKETS = [1, 2, 10, 16]
"""Of files, of the internet, and those that ask for routes."""


@pytest.mark.slow
@pytest.mark.parametrize("who", WHO)
def test_no_trial_hears_of_another_or_of_the_operator(who):
    """Not of one before it, and of one beside it no more than that a file of this machine is locked."""
    told = told_by("talking_trials.py", who, 90)
    assert {"file in /", "file in /dev/shm", "system v shmget", "message queue"} <= set(
        told["left"]
    )
    assert not [place for place in told["left"] if place.startswith("keyring")]
    assert (told["operator's"], told["after its end"], told["at the same time"]) == (
        [],
        [],
        ["lock"],
    )
    assert told["doors"] == {"families": SOCKETS, "user namespaces": [], "io_uring": False}
    assert (told["users"][0] == told["users"][1]) is (who != "root")


@pytest.fixture
def no_filter(monkeypatch):
    """A machine without the library that makes the filter."""
    monkeypatch.setitem(sys.modules, "pyseccomp", None)
    syscall_filter.cache_clear()
    yield
    syscall_filter.cache_clear()


def test_a_trial_says_which_part_of_the_seal_it_lacked(tmp_path, no_filter):
    for name in ("task", "raw"):
        (tmp_path / name).mkdir()
    job = make_job(make_task(tmp_path / "task"), "echo done > out.txt")
    record = LocalHarness({"isolation": "bwrap"}).run(job, tmp_path / "raw")
    assert (record.reward, record.unsealed) == (1.0, ("syscall_filter",))


def test_a_study_may_demand_the_seal(no_filter):
    with pytest.raises(HarnessError, match=r"pip install pyseccomp, and apt install libseccomp2"):
        LocalHarness({"isolation": "sealed"}).prepare()


def test_a_sealed_trial_says_so(tmp_path):
    (tmp_path / "raw").mkdir()
    job = make_job(make_task(tmp_path / "task"), "echo done > out.txt")
    record = LocalHarness({"isolation": "sealed"}).run(job, tmp_path / "raw")
    assert (record.isolation, record.unsealed, record.reward) == ("bwrap", (), 1.0)
