"""terminus-2's own trajectory with the skills patch: a list of prompts and replies.

Every reply is a step. The next prompt contains its commands' output or the requested Skill. Episode
0 occurs twice: once to load a Skill, once to continue.
"""

import re
from pathlib import Path
from typing import Any

from skilljuror.base.trajectory import AgentTraits, OfferedSkill
from skilljuror.logs.assembly import (
    MAIN,
    CallBuilder,
    RecordParser,
    RecordReader,
    TrajectoryBuilder,
)
from skilljuror.logs.base import Source
from skilljuror.logs.records import (
    as_dict,
    as_dicts,
    as_str,
    decode_glued,
    json_of,
    parse_head,
    text_of,
    unreadable,
)

_LISTING = re.compile(r"available_skills:\s*(\[)")
_LOADED = "Loaded skill: "
_MEMBERS = frozenset({"analysis", "plan", "commands", "task_complete", "load_skill"})
"""Members of a reply."""
_FAILED = ("Skill not found", "Failed to load skill", "Unknown skill")


def _is_episode(entry: Any) -> bool:
    return {"episode", "prompt", "response"} <= set(as_dict(entry))


def reply_text(reply: dict[str, Any]) -> list[str]:
    """Text of a reply without its commands."""
    texts = (as_str(reply, "analysis"), as_str(reply, "plan"))
    return [text for text in texts if text]


def decode_reply(text: str) -> dict[str, Any]:
    """Decode the JSON of a reply, also inside other text or quoted as a string; {} if there is none."""
    whole = json_of(text)
    if isinstance(whole, str):
        whole = json_of(whole)
    if whole is not None:
        return as_dict(whole)
    first: dict[str, Any] = {}
    at = text.find("{")
    while at >= 0:
        values, _whole = decode_glued(text[at:].encode("utf-8", "replace"))
        reply = as_dict(values[0]) if values else {}
        if _MEMBERS & reply.keys():
            return reply
        first = first or reply
        at = text.find("{", at + 1)
    return first


class _Reader(RecordReader):
    def __init__(self, run: TrajectoryBuilder) -> None:
        super().__init__(run)
        self.ended = True
        self._waiting: CallBuilder | None = None
        """The call that the next prompt answers."""

    def read_file(self, path: Path) -> None:
        document = self.document(path)
        for number, episode in document.elements(document.value):
            if _is_episode(episode):
                self.read(number, episode)
        if not self.run.steps:
            raise unreadable(path, "has no episodes")

    def read(self, line: int, record: dict[str, Any]) -> None:
        self.run.at(line)
        self._prompt(text_of(record, "prompt"))
        given = record.get("response")
        text = text_of(given)
        step = self.run.add_step()
        reply = given if isinstance(given, dict) else decode_reply(text)
        step.texts = reply_text(reply) or ([] if reply else [text])
        skill = as_str(reply, "load_skill")
        self._waiting = None
        if skill is not None:
            self._waiting = self.run.add_call(step, None, "load_skill", {"name": skill})
            return
        for command in as_dicts(reply, "commands"):
            self._waiting = self.run.add_call(step, None, "bash_command", command)

    def _prompt(self, text: str) -> None:
        """Add the task, or the output of the previous reply."""
        call = self._waiting
        if not self.run.steps:
            self._offer(text)
            self.run.add_message(MAIN, "prompt", text)
        elif call is None:
            self.run.add_message(MAIN, "other", text)
        elif call.action == "skill" and text.startswith(_LOADED):
            body = text.partition("\n")[2].removeprefix("---\n")
            call.result = self.run.result(text, ok=True, clean=body)
        else:
            failed = call.action == "skill" and text.startswith(_FAILED)
            call.result = self.run.result(text, ok=False if failed else None)

    def _offer(self, text: str) -> None:
        """Add the prompt's Skill list, JSON after `available_skills:`. A Skill is loaded by its
        folder's name; real lists also use the first heading of its text (`# # docx`)."""
        listing = _LISTING.search(text)
        if listing is None:
            return
        values, _ = decode_glued(text[listing.start(1) :].encode("utf-8", "replace"))
        skills = []
        for entry in as_dicts(values[0] if values else None):
            place = (as_str(entry, "location") or "").rstrip("/")
            name = place.rpartition("/")[2] or as_str(entry, "name")
            if name is not None:
                self.run.add_skill_root(place.rpartition("/")[0])
                skills.append(OfferedSkill(name, path=f"{place}/SKILL.md" if place else None))
        self.run.add_offered(skills)


class Terminus2(RecordParser):
    agent = "terminus-2"
    traits = AgentTraits(keeps_folder=True)
    reader = _Reader

    def sniff(self, source: Source) -> bool:
        """A list whose first object has an episode, a prompt and a response."""
        return any(map(_is_episode, parse_head(source.head).items[:1]))
