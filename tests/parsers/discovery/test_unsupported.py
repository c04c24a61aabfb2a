"""Logs that are recognised and not read."""

import zipfile

import pytest

from skilljuror.parsers.discovery.find_logs import discover
from tests.support.parsed_logs import write_json


@pytest.mark.parametrize(
    ("value", "name"),
    [
        ({"type": "session", "id": "x", "cwd": "/w"}, "pi session"),
        ({"environment": "main", "trajectory": [], "info": {}}, "SWE-agent .traj"),
        ({"history": [{"role": "system", "agent": "main"}]}, "SWE-agent .traj"),
        ({"phase": "agent", "type": "tool_call"}, "BenchFlow log"),
        ({"request": {}, "response": {}}, "BenchFlow log"),
    ],
    ids=[
        "pi",
        "SWE-agent trajectory",
        "SWE-agent history",
        "BenchFlow phases",
        "BenchFlow requests",
    ],
)
def test_known_logs_that_are_not_read(tmp_path, value, name):
    found = discover([write_json(tmp_path / "log.json", value)])
    assert found[0].problem == f"{name}: this kind of log is not read"


def test_inspect_archive_is_named(tmp_path):
    with zipfile.ZipFile(tmp_path / "a.eval", "w") as archive:
        archive.writestr("header.json", "{}")
    assert "Inspect .eval" in str(discover([tmp_path])[0].problem)
