"""terminus-2's own trajectory with the skills patch: a list of prompts and replies (formats.md §9).

Every reply is a step. What its commands print, or the skill it asks for, stands in the
next prompt. Episode 0 occurs twice: once to load a skill, once to go on.
"""

import re
from collections.abc import Iterator
from typing import Any

import orjson

from skilljuror.errors import TrajectoryError
from skilljuror.models.trajectory import AgentTraits, OfferedSkill, ToolResult, Trajectory
from skilljuror.parsers.assembly.builders import MAIN, CallBuilder, TrajectoryBuilder
from skilljuror.parsers.base import Parser, Source
from skilljuror.parsers.raw_logs.coercion import as_dict, as_list, as_string, text_of
from skilljuror.parsers.raw_logs.file_head import parse_head
from skilljuror.parsers.raw_logs.json_document import JsonDocument, JsonElement
from skilljuror.parsers.raw_logs.jsonl import decode_glued, file_key

_LISTING = re.compile(r"available_skills:\s*(\[)")
_LOADED = "Loaded skill: "
_MEMBERS = frozenset({"analysis", "plan", "commands", "task_complete", "load_skill"})
"""What a reply is made of."""
_BRACES = 32
"""Braces in the words around a reply that are tried."""
_FAILED = ("Skill not found", "Failed to load skill", "Unknown skill")


def _is_episode(entry: Any) -> bool:
    return {"episode", "prompt", "response"} <= set(as_dict(entry))


class Terminus2(Parser):
    """Reads one list of episodes."""

    agent = "terminus-2"
    traits = AgentTraits(keeps_folder=True)

    def sniff(self, source: Source) -> bool:
        """A list whose first object has an episode, a prompt and a response."""
        return any(map(_is_episode, parse_head(source.head).items[:1]))

    def parse(self, source: Source) -> Iterator[Trajectory]:
        """One trajectory."""
        document = JsonDocument(source.path)
        elements = [one for one in document.elements() if _is_episode(one.value)]
        if not elements:
            problem = f"{str(source.path)!r} holds no episode"
            raise TrajectoryError(problem, file=str(source.path))
        run = TrajectoryBuilder()
        run.complete = document.complete
        waiting: CallBuilder | None = None
        for number, element in enumerate(elements):
            _prompt(run, element, waiting, first=number == 0)
            waiting = _reply(run, element)
        yield run.build(self, source.files, trajectory=file_key(source.path))


def _prompt(
    run: TrajectoryBuilder, element: JsonElement, waiting: CallBuilder | None, *, first: bool
) -> None:
    """The task, or what came back from the reply before."""
    text = text_of(element.value.get("prompt"))
    line = element.line_of("prompt")
    if first:
        _offer(run, text)
        run.add_message(MAIN, "prompt", text, line)
    elif waiting is None:
        run.add_message(MAIN, "other", text, line)
    elif waiting.action == "skill":
        waiting.result = _loaded(text, line)
    else:
        waiting.result = ToolResult(text=text, line=line)


def _loaded(text: str, line: int) -> ToolResult:
    if not text.startswith(_LOADED):
        return ToolResult(text=text, line=line, ok=False if text.startswith(_FAILED) else None)
    body = text.partition("\n")[2].removeprefix("---\n")
    return ToolResult(text=text, line=line, ok=True, clean=body)


def _offer(run: TrajectoryBuilder, text: str) -> None:
    """The skill list of the prompt, a JSON list after `available_skills:`."""
    listing = _LISTING.search(text)
    if listing is None:
        return
    values, _ = decode_glued(text[listing.start(1) :].encode("utf-8", "replace"))
    skills = []
    for entry in map(as_dict, as_list(values[0] if values else None)):
        place = as_string(entry.get("location"))
        name = as_string(entry.get("name"))
        if name is None:
            continue
        run.add_skill_root(place.rstrip("/").rpartition("/")[0] if place else None)
        skills.append(OfferedSkill(name, path=f"{place}/SKILL.md" if place else None))
    run.add_offered(skills)


def _reply(run: TrajectoryBuilder, element: JsonElement) -> CallBuilder | None:
    """The step of a reply; the call that the next prompt answers, where there is one."""
    given = element.value.get("response")
    text = text_of(given)
    line = element.line_of("response")
    step = run.add_step(MAIN, element.line)
    reply = given if isinstance(given, dict) else decode_reply(text)
    step.texts = reply_text(reply) or ([] if reply else [text])
    skill = as_string(reply.get("load_skill"))
    if skill is not None:
        return run.add_call(step, None, "load_skill", {"name": skill}, line)
    call = None
    for command in map(as_dict, as_list(reply.get("commands"))):
        call = run.add_call(step, None, "bash_command", command, line)
    return call


def reply_text(reply: dict[str, Any]) -> list[str]:
    """What a reply says beside its commands."""
    said = (as_string(reply.get("analysis")), as_string(reply.get("plan")))
    return [part for part in said if part]


def decode_reply(text: str) -> dict[str, Any]:
    """The JSON of a reply, which may stand between other words or be quoted as a string; {} where
    there is none."""
    try:
        whole = orjson.loads(text)
        if isinstance(whole, str):
            whole = orjson.loads(whole)
    except (orjson.JSONDecodeError, UnicodeEncodeError):
        return _inside(text)
    return as_dict(whole)


def _inside(text: str) -> dict[str, Any]:
    """The first object that is a reply; a brace in the words before it begins none."""
    first: dict[str, Any] = {}
    at = text.find("{")
    for _ in range(_BRACES):
        if at < 0:
            break
        values, _whole = decode_glued(text[at:].encode("utf-8", "replace"))
        found = as_dict(values[0]) if values else {}
        if _MEMBERS & found.keys():
            return found
        first = first or found
        at = text.find("{", at + 1)
    return first
