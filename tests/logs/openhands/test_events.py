"""OpenHands: lists of events, condensations, exit statuses and what is told after an output."""

import json

import pytest

from skilljuror.logs.base import Source
from skilljuror.logs.read import read
from tests.support.parsed_logs import compacted_at, read_claimed


def action(number, **more):
    args = {"command": "ls", "thought": ""}
    return {"id": number, "source": "agent", "action": "run", "args": args, **more}


def seen(number, cause, content="out", **more):
    return {
        "id": number, "source": "agent", "observation": "run", "cause": cause, "content": content, **more,
    }  # fmt: skip


def test_a_list_with_one_event_per_line(tmp_path):
    events = [action(1), seen(2, 1), action(3), seen(4, 3)]
    shown = "[\n" + ",\n".join(map(json.dumps, events)) + "\n]"
    run = read_claimed(tmp_path, shown, "openhands")
    assert run.complete
    assert run.warnings == ()
    assert [step.line for step in run.steps] == [1, 3]
    assert [step.calls[0].result.line for step in run.steps] == [2, 4]


def test_a_condensation_is_no_step(tmp_path):
    condensed = {
        "id": 3, "source": "agent", "action": "condensation",
        "args": {"forgotten_event_ids": [1, 2], "summary": "It listed.", "summary_offset": 1},
    }  # fmt: skip
    asked = {"id": 4, "source": "agent", "action": "condensation_request", "args": {}}
    run = read_claimed(tmp_path, [action(1), seen(2, 1), condensed, asked, action(5)], "openhands")
    assert [step.calls[0].name for step in run.steps] == ["run", "run"]
    assert compacted_at(run) == (("main", 1),)
    assert [(one.kind, one.text, one.step) for one in run.messages] == [
        ("summary", "It listed.", 1)
    ]


def test_an_event_cut_off_before_its_kind_is_no_step(tmp_path):
    """An agent's event that says neither what it did nor what it saw."""
    shown = json.dumps([action(1), seen(2, 1), {"id": 3, "source": "agent", "observation": "run"}])
    run = read_claimed(tmp_path, shown[: shown.index(', "observation": "run"}]')], "openhands")
    assert not run.complete
    assert len(run.steps) == 1


@pytest.mark.parametrize("code", [True, "0", None, [1], {}])
def test_an_exit_status_of_a_wrong_type_is_none(tmp_path, code):
    run = read_claimed(
        tmp_path, [action(1), seen(2, 1, extras={"metadata": {"exit_code": code}})], "openhands"
    )
    assert run.steps[0].calls[0].result.exit_code is None


@pytest.mark.parametrize(
    ("action", "content"),
    [
        ("run", "one\ntwo\n[The command completed with exit code 0.]\n[Current working directory: /w]\n[Python interpreter: /bin/python]"),
        ("run", "one\ntwo\n\n[Command finished with exit code 0]"),
        ("run_ipython", "one\ntwo\n[Jupyter current working directory: /w]\n[Jupyter Python interpreter: /bin/python]"),
    ], ids=['newer', 'older', 'python'],
)  # fmt: skip
def test_what_is_told_after_an_output_is_none_of_it(tmp_path, action, content):
    path = tmp_path / "events.json"
    at = {"timestamp": "2026-03-01T09:00:00", "source": "agent", "message": ""}
    asked = {"id": 1, "action": action, "args": {"command": "x", "code": "x"}, **at}
    told = {"id": 2, "cause": 1, "observation": action, "content": content, "extras": {}, **at}
    path.write_text(json.dumps([asked, told]), encoding="utf-8")
    (run,) = read(Source(path), "openhands")
    result = run.steps[0].calls[0].result
    assert result is not None
    assert (result.clean, result.text) == ("one\ntwo", content)


def test_a_bracket_of_the_output_is_left_alone(tmp_path):
    path = tmp_path / "events.json"
    at = {"timestamp": "2026-03-01T09:00:00", "source": "agent", "message": ""}
    asked = {"id": 1, "action": "run", "args": {"command": "x"}, **at}
    told = {"id": 2, "cause": 1, "observation": "run", "content": "a [b]", "extras": {}, **at}
    path.write_text(json.dumps([asked, told]), encoding="utf-8")
    (run,) = read(Source(path), "openhands")
    result = run.steps[0].calls[0].result
    assert result is not None
    assert result.clean == "a [b]"
