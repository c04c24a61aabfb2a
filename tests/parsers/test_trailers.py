"""What agents' tools print after an output is none of it."""

import json

import pytest

from skilljuror.parsers.base import Source
from skilljuror.parsers.read import read


@pytest.mark.parametrize(
    ("action", "content"),
    [
        ("run", "one\ntwo\n[The command completed with exit code 0.]\n[Current working directory: /w]\n[Python interpreter: /bin/python]"),
        ("run", "one\ntwo\n\n[Command finished with exit code 0]"),
        ("run_ipython", "one\ntwo\n[Jupyter current working directory: /w]\n[Jupyter Python interpreter: /bin/python]"),
    ],
)  # fmt: skip
def test_openhands(tmp_path, action, content):
    path = tmp_path / "events.json"
    at = {"timestamp": "2026-03-01T09:00:00", "source": "agent", "message": ""}
    asked = {"id": 1, "action": action, "args": {"command": "x", "code": "x"}, **at}
    told = {"id": 2, "cause": 1, "observation": action, "content": content, "extras": {}, **at}
    path.write_text(json.dumps([asked, told]), encoding="utf-8")
    (run,) = read(Source(path), "openhands")
    result = run.steps[0].calls[0].result
    assert result is not None
    assert (result.clean, result.text) == ("one\ntwo", content)


def test_openhands_leaves_a_bracket_of_the_output_alone(tmp_path):
    path = tmp_path / "events.json"
    at = {"timestamp": "2026-03-01T09:00:00", "source": "agent", "message": ""}
    asked = {"id": 1, "action": "run", "args": {"command": "x"}, **at}
    told = {"id": 2, "cause": 1, "observation": "run", "content": "a [b]", "extras": {}, **at}
    path.write_text(json.dumps([asked, told]), encoding="utf-8")
    (run,) = read(Source(path), "openhands")
    result = run.steps[0].calls[0].result
    assert result is not None
    assert result.clean == "a [b]"
