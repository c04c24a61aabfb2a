"""mini-swe-agent, terminus-2's own list, OpenHands and Harbor trials: odd but possible logs."""

import json
import shutil

import pytest

from skilljuror.parsers.base import Source
from skilljuror.parsers.discovery.find_logs import discover
from skilljuror.parsers.harbor.result import is_trial, read_result
from skilljuror.parsers.read import read
from tests.support import places

TRIAL = places.GOLDENS / "harbor-trial" / "codex" / "raw"


def parsed(folder, given, format):
    path = folder / "log.json"
    path.write_text(given if isinstance(given, str) else json.dumps(given), encoding="utf-8")
    (found,) = discover([path])
    assert found.format == format
    (run,) = read(found.source, format)
    return run


def mini(*messages, cost=0.0):
    return {
        "info": {"mini_version": "2.4.6", "model_stats": {"instance_cost": cost, "api_calls": 1}},
        "messages": list(messages), "trajectory_format": "mini-swe-agent-1.1",
    }  # fmt: skip


def reply(**extra):
    usage = {"prompt_tokens": 10, "completion_tokens": 2}
    return {"role": "assistant", "content": "hm", "extra": {"response": {"usage": usage}, **extra}}


@pytest.mark.parametrize(
    ("message", "stated", "expected"),
    [
        (reply(), 0.5, 0.5),
        (reply(cost=0.25), 0.5, 0.25),
        (reply(), 0.0, None),
        ({"role": "assistant", "content": "hm"}, 0.5, 0.5),
    ],
)
def test_the_cost_of_a_whole_run_of_mini(tmp_path, message, stated, expected):
    usage = parsed(tmp_path, mini(message, cost=stated), "mini-swe-agent").usage
    assert usage.cost_usd == expected if usage else expected is None


def test_a_format_error_in_the_responses_shape(tmp_path):
    response = {
        "object": "response", "usage": {"input_tokens": 10, "output_tokens": 2}, "output": [
            {"type": "message", "content": [{"type": "output_text", "text": "try"}]},
            {"type": "function_call", "call_id": "c", "name": "nope", "arguments": '{"a": 1}'},
        ],
    }  # fmt: skip
    extra = {"interrupt_type": "FormatError", "response": response}
    error = {"role": "user", "content": "Unknown tool", "extra": extra}
    run = parsed(tmp_path, mini(error), "mini-swe-agent")
    (step,) = run.steps
    (call,) = step.calls
    assert (step.text, call.name, call.arguments) == ("try", "nope", {"a": 1})
    assert (call.result.text, call.result.ok) == ("Unknown tool", False)
    assert (run.usage.input, run.usage.output) == (10, 2)


def test_a_format_error_leaves_nothing_asked(tmp_path):
    """The next user message is no output of a command that was refused."""
    response = {"choices": [{"message": {"role": "assistant", "content": "```bash\nls\n```"}}]}
    extra = {"interrupt_type": "FormatError", "response": response}
    error = {"role": "user", "content": "Format error", "extra": extra}
    later = {"role": "user", "content": "go on"}
    run = parsed(tmp_path, mini(error, later), "mini-swe-agent")
    assert run.steps[0].calls[0].result.text == "Format error"
    assert [(one.kind, one.text) for one in run.messages] == [("prompt", "go on")]


def test_a_format_error_without_its_response_keeps_the_words(tmp_path):
    extra = {"interrupt_type": "FormatError", "n_actions": 0, "model_response": "I think so."}
    run = parsed(
        tmp_path, mini({"role": "user", "content": "no", "extra": extra}), "mini-swe-agent"
    )
    assert run.steps[0].text == "I think so."


ANSWER = {"analysis": "a", "plan": "p", "commands": [{"keystrokes": "ls\n", "duration": 0.1}]}
QUOTED = json.dumps(ANSWER)


@pytest.mark.parametrize(
    "response",
    [
        QUOTED,
        ANSWER,
        json.dumps(QUOTED),
        f"I use {{a}} and {{'b': 1}}.\n{QUOTED}",
        f'{{"note": 1}}\n{QUOTED}',
        f"```json\n{QUOTED}\n```\nDone.",
    ],
)
def test_replies_of_terminus_in_every_wrapping(tmp_path, response):
    given = [{"episode": 0, "prompt": "do", "response": response}]
    (step,) = parsed(tmp_path, given, "terminus-2").steps
    assert step.text == "a\np"
    assert [call.command for call in step.calls] == ["ls\n"]


@pytest.mark.parametrize("response", ["", "{" * 5000, "null", "[1]", '"x"', None, 7])
def test_replies_of_terminus_that_are_none(tmp_path, response):
    given = [{"episode": 0, "prompt": "do", "response": response}]
    (step,) = parsed(tmp_path, given, "terminus-2").steps
    assert step.calls == ()


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
    run = parsed(tmp_path, shown, "openhands")
    assert run.complete
    assert run.warnings == ()
    assert [step.line for step in run.steps] == [2, 4]
    assert [step.calls[0].result.line for step in run.steps] == [3, 5]


def test_a_condensation_is_no_step(tmp_path):
    condensed = {
        "id": 3, "source": "agent", "action": "condensation",
        "args": {"forgotten_event_ids": [1, 2], "summary": "It listed.", "summary_offset": 1},
    }  # fmt: skip
    asked = {"id": 4, "source": "agent", "action": "condensation_request", "args": {}}
    run = parsed(tmp_path, [action(1), seen(2, 1), condensed, asked, action(5)], "openhands")
    assert [step.calls[0].name for step in run.steps] == ["run", "run"]
    assert run.compactions == (("main", 1),)
    assert [(one.kind, one.text, one.step) for one in run.messages] == [
        ("summary", "It listed.", 1)
    ]


@pytest.mark.parametrize("code", [True, "0", None, [1], {}])
def test_an_exit_status_of_a_wrong_type_is_none(tmp_path, code):
    run = parsed(
        tmp_path, [action(1), seen(2, 1, extras={"metadata": {"exit_code": code}})], "openhands"
    )
    assert run.steps[0].calls[0].result.exit_code is None


def trial(folder, change=lambda given: None, text=lambda shown: shown):
    copied = folder / "trial"
    shutil.copytree(TRIAL, copied)
    path = copied / "result.json"
    given = json.loads(path.read_text(encoding="utf-8"))
    change(given)
    path.write_text(text(json.dumps(given)), encoding="utf-8")
    return copied


def test_a_result_with_a_reward_that_is_no_number(tmp_path):
    folder = trial(tmp_path, lambda given: given["verifier_result"].update(rewards={"reward": float("nan"), "x": 1}))  # fmt: skip
    result = read_result(folder)
    assert (result.reward, result.rewards) == (None, {"x": 1.0})


@pytest.mark.parametrize(
    "text",
    [
        lambda shown: "\ufeff" + shown,
        lambda shown: shown.replace('"sea/tides"', '"sea/\\ud800"'),
        lambda shown: shown.replace('"format": 0.5', '"format": Infinity'),
    ],
)
def test_a_result_that_strict_readers_refuse(tmp_path, text):
    folder = trial(tmp_path, text=text)
    assert is_trial(folder)
    (run,) = read(Source(folder), "harbor-trial")
    assert run.outcome is not None
    assert run.outcome.reward == 1.0
    json.dumps(read_result(folder).task_name).encode()


def test_a_result_that_is_cut_off_leaves_the_logs(tmp_path):
    folder = trial(tmp_path, text=lambda shown: shown[:-40])
    found = [one for one in discover([folder]) if one.format]
    assert {one.format for one in found} >= {"codex-rollout", "atif"}
    assert "harbor-trial" not in {one.format for one in found}


def test_an_empty_agent_folder_is_a_trial_without_a_run(tmp_path):
    folder = trial(tmp_path)
    shutil.rmtree(folder / "agent")
    (folder / "agent").mkdir()
    assert list(read(Source(folder), "harbor-trial")) == []


def shifted(given):
    """Eight hours later and without a zone: local times, as older versions wrote them."""
    window = {
        name: value.replace("T0", "T1").rstrip("Z")
        for name, value in given["agent_execution"].items()
    }
    given["agent_execution"] = window


def test_local_times_leave_no_run_out(tmp_path):
    (run,) = read(Source(trial(tmp_path)), "harbor-trial")
    runs = list(read(Source(trial(tmp_path / "local", shifted)), "harbor-trial"))
    assert run.session in {one.session for one in runs}
    assert any("no time zone" in warning for one in runs for warning in one.warnings)
