"""ATIF documents made by hand, and what is read of them."""

import json

from skilljuror.logs.discovery import discover
from skilljuror.logs.read import read


def document(*steps, agent="terminus-2", **more):
    """A document of these steps, numbered in order."""
    numbered = [{"step_id": number, **step} for number, step in enumerate(steps, 1)]
    return {
        "schema_version": "ATIF-v1.8", "session_id": "s", "agent": {"name": agent, "version": "1"},
        "steps": numbered, **more,
    }  # fmt: skip


def agent_step(message="", *calls, results=None, **more):
    """A step of the agent with its calls and what came back."""
    step = {"source": "agent", "message": message, **more}
    if calls:
        step["tool_calls"] = list(calls)
    if results is not None:
        step["observation"] = {"results": results}
    return step


def tool_call(call_id, command="ls\n", name="bash_command"):
    """A call of a step: keystrokes, unless another tool is named."""
    return {
        "tool_call_id": call_id, "function_name": name, "arguments": {"keystrokes": command},
    }  # fmt: skip


def read_document(folder, given, **others):
    """The run of a document and of its other parts, which are named by the words behind the name."""
    path = folder / "trajectory.json"
    path.write_text(json.dumps(given, indent=1), encoding="utf-8")
    for name, other in others.items():
        shown = other if isinstance(other, str) else json.dumps(other)
        (folder / f"trajectory.{name.replace('_', '-')}.json").write_text(shown, encoding="utf-8")
    (found,) = [one for one in discover([folder]) if one.source.path == path]
    assert found.format == "atif", found.problem
    (run,) = read(found.source, "atif")
    return run


def results_by_call(run):
    """Id of a call -> the text of its result; None for a call without one."""
    return {one.call_id: one.result and one.result.text for step in run.steps for one in step.calls}
