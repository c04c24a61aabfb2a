"""terminus-2's own trajectory with the skills patch: a list of prompts and replies (formats.md §9).

Every reply is a step. What its commands print, or the skill it asks for, stands in the
next prompt. Episode 0 occurs twice: once to load a skill, once to go on.
"""

import re
from collections.abc import Iterator
from typing import Any, ClassVar

import orjson

from skilljuror.errors import TrajectoryError
from skilljuror.models.trajectory import OfferedSkill, ToolResult, Trajectory
from skilljuror.parsers.assembly.builders import MAIN, CallDraft, RunDraft
from skilljuror.parsers.base import Source
from skilljuror.parsers.raw_logs.coercion import record, rows, string, text
from skilljuror.parsers.raw_logs.file_head import peek
from skilljuror.parsers.raw_logs.json_document import Document, Element
from skilljuror.parsers.raw_logs.jsonl import decode_glued, file_key

_LISTING = re.compile(r"available_skills:\s*(\[)")
_LOADED = "Loaded skill: "
_MEMBERS = frozenset({"analysis", "plan", "commands", "task_complete", "load_skill"})
"""What a reply is made of."""
_BRACES = 32
"""Braces in the words around a reply that are tried."""
_FAILED = ("Skill not found", "Failed to load skill", "Unknown skill")


def _is_episode(entry: Any) -> bool:
    return {"episode", "prompt", "response"} <= set(record(entry))


class Terminus2:
    """Reads one list of episodes."""

    format: ClassVar[str] = "terminus-2"
    native: ClassVar[int] = 0

    def sniff(self, source: Source) -> bool:
        """A list whose first object has an episode, a prompt and a response."""
        return any(map(_is_episode, peek(source.head).items[:1]))

    def parse(self, source: Source) -> Iterator[Trajectory]:
        """One trajectory."""
        document = Document(source.path)
        elements = [one for one in document.elements() if _is_episode(one.value)]
        if not elements:
            problem = f"{str(source.path)!r} holds no episode"
            raise TrajectoryError(problem, file=str(source.path))
        run = RunDraft()
        run.complete = document.complete
        waiting: CallDraft | None = None
        for number, element in enumerate(elements):
            _prompt(run, element, waiting, first=number == 0)
            waiting = _reply(run, element)
        yield run.freeze(
            trajectory=file_key(source.path),
            format=self.format,
            files=(str(source.path),),
            agent="terminus-2",
        )


def _prompt(run: RunDraft, element: Element, waiting: CallDraft | None, *, first: bool) -> None:
    """The task, or what came back from the reply before."""
    shown = text(element.value.get("prompt"))
    line = element.line_of("prompt")
    if first:
        _offer(run, shown)
        run.message(MAIN, "prompt", shown, line)
    elif waiting is None:
        run.message(MAIN, "other", shown, line)
    elif waiting.fields["action"] == "skill":
        waiting.result = _loaded(shown, line)
    else:
        waiting.result = ToolResult(text=shown, line=line)


def _loaded(shown: str, line: int) -> ToolResult:
    if not shown.startswith(_LOADED):
        return ToolResult(text=shown, line=line, ok=False if shown.startswith(_FAILED) else None)
    body = shown.partition("\n")[2].removeprefix("---\n")
    return ToolResult(text=shown, line=line, ok=True, clean=body)


def _offer(run: RunDraft, shown: str) -> None:
    """The skill list of the prompt, a JSON list after `available_skills:`."""
    listing = _LISTING.search(shown)
    if listing is None:
        return
    values, _ = decode_glued(shown[listing.start(1) :].encode("utf-8", "replace"))
    skills = []
    for entry in map(record, rows(values[0] if values else None)):
        place = string(entry.get("location"))
        name = string(entry.get("name"))
        if name is None:
            continue
        run.root(place.rstrip("/").rpartition("/")[0] if place else None)
        skills.append(OfferedSkill(name, path=f"{place}/SKILL.md" if place else None))
    run.offer(skills)


def _reply(run: RunDraft, element: Element) -> CallDraft | None:
    """The step of a reply; the call that the next prompt answers, where there is one."""
    given = element.value.get("response")
    shown = text(given)
    line = element.line_of("response")
    step = run.step(MAIN, element.line)
    reply = given if isinstance(given, dict) else decoded_reply(shown)
    step.said = words_of(reply) or ([] if reply else [shown])
    skill = string(reply.get("load_skill"))
    if skill is not None:
        return run.call(step, None, "load_skill", {"name": skill}, line)
    call = None
    for command in map(record, rows(reply.get("commands"))):
        call = run.call(step, None, "bash_command", command, line)
    return call


def words_of(reply: dict[str, Any]) -> list[str]:
    """What a reply says beside its commands."""
    said = (string(reply.get("analysis")), string(reply.get("plan")))
    return [part for part in said if part]


def decoded_reply(shown: str) -> dict[str, Any]:
    """The JSON of a reply, which may stand between other words or be quoted as a string; {} where
    there is none."""
    try:
        whole = orjson.loads(shown)
        if isinstance(whole, str):
            whole = orjson.loads(whole)
    except (orjson.JSONDecodeError, UnicodeEncodeError):
        return _inside(shown)
    return record(whole)


def _inside(shown: str) -> dict[str, Any]:
    """The first object that is a reply; a brace in the words before it begins none."""
    first: dict[str, Any] = {}
    at = shown.find("{")
    for _ in range(_BRACES):
        if at < 0:
            break
        values, _whole = decode_glued(shown[at:].encode("utf-8", "replace"))
        found = record(values[0]) if values else {}
        if _MEMBERS & found.keys():
            return found
        first = first or found
        at = shown.find("{", at + 1)
    return first
