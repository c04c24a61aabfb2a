"""terminus-2's own trajectory with the skills patch: a list of prompts and replies.

Every reply is a step. The next prompt contains its commands' output or the requested Skill. Episode
0 occurs twice: once to load a Skill, once to continue.
"""

import re
from collections.abc import Iterator
from typing import Any

from skilljuror.base.trajectory import AgentTraits, OfferedSkill, ToolResult, Trajectory
from skilljuror.logs.assembly.builders import MAIN, CallBuilder, TrajectoryBuilder
from skilljuror.logs.base import Parser, Source
from skilljuror.logs.raw_logs.coercion import as_dict, as_list, as_str, json_of
from skilljuror.logs.raw_logs.content import text_of
from skilljuror.logs.raw_logs.file_head import parse_head
from skilljuror.logs.raw_logs.json_document import JsonDocument, JsonElement
from skilljuror.logs.raw_logs.jsonl import decode_glued, file_key, unreadable

_LISTING = re.compile(r"available_skills:\s*(\[)")
_LOADED = "Loaded skill: "
_MEMBERS = frozenset({"analysis", "plan", "commands", "task_complete", "load_skill"})
"""Members of a reply."""
_BRACES = 32
"""Opening braces to try in the text around a reply."""
_FAILED = ("Skill not found", "Failed to load skill", "Unknown skill")


def _is_episode(entry: Any) -> bool:
    return {"episode", "prompt", "response"} <= set(as_dict(entry))


class Terminus2(Parser):
    agent = "terminus-2"
    traits = AgentTraits(keeps_folder=True)

    def sniff(self, source: Source) -> bool:
        """A list whose first object has an episode, a prompt and a response."""
        return any(map(_is_episode, parse_head(source.head).items[:1]))

    def parse(self, source: Source) -> Iterator[Trajectory]:
        document = JsonDocument(source.path)
        elements = [one for one in document.elements(document.value) if _is_episode(one.value)]
        if not elements:
            raise unreadable(source.path, "has no episodes")
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
    """Add the task, or the output of the previous reply."""
    text = text_of(element.value.get("prompt"))
    if first:
        _offer(run, text)
        run.add_message(MAIN, "prompt", text, element.number)
    elif waiting is None:
        run.add_message(MAIN, "other", text, element.number)
    elif waiting.action == "skill":
        waiting.result = _loaded(text, element.number)
    else:
        waiting.result = ToolResult(text=text, line=element.number)


def _loaded(text: str, line: int) -> ToolResult:
    if not text.startswith(_LOADED):
        return ToolResult(text=text, line=line, ok=False if text.startswith(_FAILED) else None)
    body = text.partition("\n")[2].removeprefix("---\n")
    return ToolResult(text=text, line=line, ok=True, clean=body)


def _offer(run: TrajectoryBuilder, text: str) -> None:
    """Add the prompt's Skill list, JSON after `available_skills:`. A Skill is loaded by its
    folder's name; real lists also use the first heading of its text (`# # docx`)."""
    listing = _LISTING.search(text)
    if listing is None:
        return
    values, _ = decode_glued(text[listing.start(1) :].encode("utf-8", "replace"))
    skills = []
    for entry in map(as_dict, as_list(values[0] if values else None)):
        place = (as_str(entry.get("location")) or "").rstrip("/")
        name = place.rpartition("/")[2] or as_str(entry.get("name"))
        if name is None:
            continue
        run.add_skill_root(place.rpartition("/")[0])
        skills.append(OfferedSkill(name, path=f"{place}/SKILL.md" if place else None))
    run.add_offered(skills)


def _reply(run: TrajectoryBuilder, element: JsonElement) -> CallBuilder | None:
    """Add the step of a reply; return the call that the next prompt answers, if any."""
    given = element.value.get("response")
    text = text_of(given)
    step = run.add_step(MAIN, element.number)
    reply = given if isinstance(given, dict) else decode_reply(text)
    step.texts = reply_text(reply) or ([] if reply else [text])
    skill = as_str(reply.get("load_skill"))
    if skill is not None:
        return run.add_call(step, None, "load_skill", {"name": skill}, element.number)
    call = None
    for command in map(as_dict, as_list(reply.get("commands"))):
        call = run.add_call(step, None, "bash_command", command, element.number)
    return call


def reply_text(reply: dict[str, Any]) -> list[str]:
    """Text of a reply without its commands."""
    texts = (as_str(reply.get("analysis")), as_str(reply.get("plan")))
    return [part for part in texts if part]


def decode_reply(text: str) -> dict[str, Any]:
    """Decode the JSON of a reply, also inside other text or quoted as a string; {} if there is none."""
    whole = json_of(text)
    if isinstance(whole, str):
        whole = json_of(whole)
    return _inside(text) if whole is None else as_dict(whole)


def _inside(text: str) -> dict[str, Any]:
    """The first object that is a reply; braces in the text before it are skipped."""
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
