"""The environment class that Harbor loads, in Harbor's own Python."""

import json
import os
import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from skilljuror.harness.harbor.job import INSIDE
from skilljuror.harness.process import Command, OutputFiles
from skilljuror.harness.sandbox import BubblewrapSandbox, host_parts
from skilljuror.harness.seal import unsealed
from tests.support import talker
from tests.support.harbor_venv import PYTHON, needs_harbor
from tests.support.harness_tasks import alive, write_tree
from tests.support.places import ROOT

pytestmark = [needs_harbor, pytest.mark.slow]

LISTING = "find /etc -mindepth 1 -maxdepth 3 | LC_ALL=C sort; cat /etc/hosts; env | grep ^PATH="


@pytest.fixture(scope="module")
def told():
    """What came of every case."""
    with TemporaryDirectory(dir="/tmp") as folder:  # a sandbox has a /dev/shm of its own
        return said_in_harbor(Path(folder))


def said_in_harbor(place):
    write_tree(place, {"root/app/input.txt": "tea\n", "tea/environment/Dockerfile": "FROM x\n"})
    (place / "tmp").mkdir()
    env = {
        **os.environ,
        "PYTHONPATH": str(INSIDE),
        "TMPDIR": str(place / "tmp"),
        "HARBOR_TEST_SECRET": "x",
    }
    script = ROOT / "tests" / "support" / "sandbox_in_harbor.py"
    talker.call(talker.KEYCTL, 1, None)  # a session keyring of this test's own
    talker.put_key(talker.RINGS["session"], b"operator")
    done = subprocess.run(
        [PYTHON, script, place, json.dumps(host_parts()), LISTING],
        env=env,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout)


def test_commands_find_what_a_container_would_have(told):
    assert told["files"].split() == ["tea", "/app", "/root", "ok"]
    assert (told["code"], told["env"], told["shown"]) == (7, "yes", "hello")


def test_commands_have_no_privilege_and_see_nothing_of_the_host(told):
    user, capabilities = told["user"]
    assert int(user) > 0
    assert int(capabilities, 16) == 0
    assert (told["host env"], told["host files"], told["write"] != 0) == ("0", "0", True)


@pytest.mark.skipif(bool(unsealed()), reason="this machine lacks a part of the seal")
def test_commands_are_sealed_as_those_of_our_own_sandbox(told):
    assert told["doors"] == {"families": [1, 2, 10, 16], "user namespaces": [], "io_uring": False}
    assert told["find operator"] == []


def test_of_the_host_they_see_what_our_own_sandbox_shows(told, tmp_path):
    (tmp_path / "root").mkdir()
    env = {"PATH": host_parts()["path"]}
    said = OutputFiles(tmp_path / "said", tmp_path / "err")
    sandbox = BubblewrapSandbox(tmp_path / "root")
    sandbox.run(Command(("sh", "-c", LISTING), env, "/"), 20.0, said)
    ours = said.stdout.read_text().splitlines()
    theirs = told["same"].splitlines()
    assert len(ours) > 10
    assert theirs[:-1] == ours[:-1]
    assert theirs[-1].endswith(ours[-1].removeprefix("PATH="))


def test_what_is_hidden_is_empty_in_a_folder_that_is_shown(told):
    assert told["hidden"].split() == ["bin", "tests", "0"]


def test_nothing_is_written_through_links_of_a_task(told):
    assert told["victim"] == [["hosts", "kept"]]


def test_certificates_can_be_read(told):
    assert told["etc"].split() == ["1", "1"]


def test_there_is_no_network_unless_both_allow_it(told):
    assert told["network"] == "1"  # the loopback device alone
    assert told["closed"] == "1"


def test_a_command_ends_with_its_time_or_its_caller(told):
    assert told["timeout"] == ["Command timed out after 1 seconds", True]
    assert (told["cancelled"], told["sleeper gone"]) == (True, "0")


def test_nothing_outlives_a_trial(told):
    assert told["daemon"] == "1"
    assert not alive("sleep 6789")
    assert (told["files gone"], told["left"]) == (True, 0)


def test_output_and_processes_are_bounded(told):
    assert told["output"] is True
    assert 100 < told["bomb"] < 1_000


def test_files_go_in_and_plain_files_come_out(told):
    *said, owner = told["upload"].split()
    assert (said, owner) == (["a", "a"], told["user"][0])
    assert told["download"] == ["d", "d/x", "hard", "log"]
    assert told["one"] == "log\n"


def test_what_is_copied_out_has_limits_and_the_rest_is_named(told):
    kept, left_out = told["sparse"]
    assert kept == ["a", "d"]
    assert sorted(line.partition(":")[0] for line in left_out) == [
        "/logs/sparse/b",
        "/logs/sparse/c",
    ]
    assert "3900000000 bytes are more than" in left_out[0]
    assert told["deep"][:2] == [True, "File name too long"]
    assert told["deep"][2].endswith(" more")
    assert told["many"] == [5, 1, "more than 5 files and folders"]
    assert told["late"] == [[], ["/logs/late: reading took 0 s"]]


def test_copying_out_ends_in_time_and_follows_no_link(told):
    assert told["pipe"] == "Command timed out after 1.0 seconds"
    assert told["link"] == []


def test_logs_of_a_start_that_failed_are_none(told):
    assert told["early"] is False
    assert told["broken"] in {"RuntimeError", "ValueError"}


def test_a_sandbox_stands_what_an_agent_removes(told):
    assert "alive after rm" in told
