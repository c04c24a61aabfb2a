"""Events whose uptake is known because it was planted, as real logs that are parsed and attributed."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import yaml

from skilljuror.base.trajectory import ResourceEvent, Trajectory
from skilljuror.events.attribute import attribute
from tests.support.atif_documents import agent_step, document
from tests.support.claude_logs import assistant, row, runs, tool_result, tool_use, user, write_lines

SKILLS = "/root/.claude/skills"
"""Where the agent finds its Skills."""
PROMPT = "Please do what TASK.md asks for."
CLOSING = "That is all."
Part = dict[str, Any]
"""One call of a step, or the words of one."""


@dataclass(frozen=True)
class PlantedEvent:
    """One event with the truth about it."""

    id: str
    """Name of the case."""
    category: str
    """What kind of case it is."""
    truth: bool
    """Whether what the access brought became visible work, and was known from nowhere else."""
    why: str
    """The reason, in words."""
    trajectory: Trajectory
    """The whole run."""
    events: tuple[ResourceEvent, ...]
    """All events in it."""
    event: ResourceEvent
    """The one that the truth is about."""


@lru_cache(maxsize=1)
def planted_events() -> tuple[PlantedEvent, ...]:
    """Every case of planted_uptake.yaml, its log written, parsed and attributed."""
    cases = yaml.load(Path(__file__).with_suffix(".yaml").read_bytes(), yaml.CSafeLoader)
    with TemporaryDirectory() as folder:
        return tuple(_planted(case, Path(folder) / case["id"]) for case in cases)


def _planted(case: dict[str, Any], folder: Path) -> PlantedEvent:
    if case.get("format") == "atif":
        path = folder / "trajectory.json"
        path.parent.mkdir()
        path.write_text(json.dumps(_document(case), indent=1), encoding="utf-8")
    else:
        path = write_lines(folder / "session.jsonl", *_session(case))
    (run,) = runs(path)
    events = attribute(run, None).events
    counted = [event for event in events if event.counts]
    about = counted[case.get("event", 0)]
    return PlantedEvent(
        case["id"], case["category"], case["truth"], case["why"], run, events, about
    )


def _calls(step: Part) -> list[Part]:
    parts = [step, *step.get("also", ())]
    return [part for part in parts if {"open", "read", "skill", "run", "write"} & part.keys()]


def _shell(part: Part) -> str:
    return part["run"] if "run" in part else f"cat {SKILLS}/{part['open']}"


def _steps(case: dict[str, Any]) -> list[Part]:
    """The steps of a case; a run that goes on to its end closes with words."""
    closed = case.get("ends") or not _calls(case["run"][-1])
    return case["run"] if closed else [*case["run"], {"say": CLOSING}]


def _session(case: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The records of a session of Claude Code."""
    number = count()
    yield user(next(number), case.get("prompt", PROMPT))
    for place, step in enumerate(_steps(case), 1):
        if "compact" in step:
            boundary = {"subtype": "compact_boundary", "content": "Conversation compacted"}
            yield row(next(number), "system", **boundary)
            yield user(next(number), step["compact"], isCompactSummary=True)
            continue
        calls = [(f"toolu_{place}_{i}", part) for i, part in enumerate(_calls(step))]
        words = [{"type": "text", "text": step["say"]}] if "say" in step else []
        yield assistant(next(number), *words, *(_tool_use(call, part) for call, part in calls))
        for call, part in calls:
            answer = {**tool_result(call, _result(part)), "is_error": "fails" in part}
            yield user(next(number), [answer])
            if "skill" in part:
                body = f"Base directory for this skill: {SKILLS}/{part['skill']}\n\n{part['shows']}"
                text = [{"type": "text", "text": body}]
                yield user(next(number), text, isMeta=True, sourceToolUseID=call)


def _tool_use(call: str, part: Part) -> dict[str, Any]:
    if "read" in part:
        return tool_use(call, "Read", file_path=f"{SKILLS}/{part['read']}")
    if "skill" in part:
        return tool_use(call, "Skill", skill=part["skill"])
    if "write" in part:
        return tool_use(call, "Write", file_path=f"/w/{part['write']}", content=part["text"])
    return tool_use(call, "Bash", command=_shell(part))


def _result(part: Part) -> str:
    if "read" in part:
        lines = part["shows"].splitlines()
        return "\n".join(f"{number:6}→{line}" for number, line in enumerate(lines, 1))
    if "skill" in part:
        return f"Launching skill: {part['skill']}"
    if "write" in part:
        return f"File created successfully at: /w/{part['write']}"
    return str(part.get("shows", part.get("prints")))


def _document(case: dict[str, Any]) -> Any:
    """The same as an ATIF document."""
    steps = [{"source": "user", "message": case.get("prompt", PROMPT)}]
    for number, step in enumerate(_steps(case)):
        calls = [(f"call_{number}_{i}", part) for i, part in enumerate(_calls(step))]
        made = [
            {"tool_call_id": call, "function_name": name, "arguments": arguments}
            for call, part in calls
            for name, arguments in [_function(part)]
        ]
        results = [{"source_call_id": call, "content": _result(part)} for call, part in calls]
        steps.append(agent_step(step.get("say", ""), *made, results=results))
    return document(*steps, agent="somebody")


def _function(part: Part) -> tuple[str, dict[str, str]]:
    if "write" in part:
        return "write_file", {"file_path": f"/w/{part['write']}", "content": part["text"]}
    return "bash", {"command": _shell(part)}
