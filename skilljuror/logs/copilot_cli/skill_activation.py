"""Skills of Copilot CLI: a `skill` call or slash command, its invocation record, and its text."""

import re
from collections import Counter
from typing import Any

from skilljuror.logs.assembly.builders import MAIN, CallBuilder, TrajectoryBuilder
from skilljuror.logs.raw_logs.coercion import as_str

_CONTEXT = re.compile(
    r"<skill-context name=\"(?P<name>[^\"\n]{1,200})\">\n?(?P<text>.*?)(?:\n?</skill-context>|\Z)",
    re.DOTALL,
)
_PREFIX = re.compile(
    r"\s*Base directory for this skill: (?P<base>[^\n]{1,1000})\n+"
    r"(?:Related files \(use view tool to read\):\n(?:[ \t]+- [^\n]*\n)*\n*)?"
)
_SLASH = re.compile(r"\s*/(?P<name>[\w:.-]{1,200})(?=\s|\Z)")


class CopilotSkills:
    """Merges the records of one activation: `skill.invoked` with the body, and a user message with
    the same body in `<skill-context>`, in either order."""

    def __init__(self, run: TrajectoryBuilder) -> None:
        self.run = run
        self._waiting: list[CallBuilder] = []
        """Skill calls without a body so far."""
        self._ahead: Counter[str] = Counter()
        """Skill -> activations seen only as a record (above 0) or only as text (below 0)."""
        self._texts: dict[str, str] = {}
        """Skill -> its body, which a repeated activation omits."""
        self._typed: tuple[int, str] | None = None
        """(line, Skill) of the latest slash command."""

    def add_call(self, call: CallBuilder) -> None:
        self._waiting.append(call)

    def add_invocation(self, line: int, data: dict[str, Any]) -> None:
        """Read an invocation record; without a body its text follows later."""
        name = as_str(data.get("name")) or as_str(data.get("skillName"))
        if name is None:
            return
        text = as_str(data.get("content")) or self._texts.get(name)
        if self._ahead[name] < 0:
            self._ahead[name] += 1
        elif text:
            self._ahead[name] += 1
            path = as_str(data.get("path")) or ""
            self._deliver(line, name, text, path.rpartition("/")[0] or None)

    def add_user_message(self, line: int, text: str, typed: str) -> str | None:
        """Remove wrapped Skills from a user message; return the typed text, or None without any."""
        slash = _SLASH.match(typed)
        if slash:
            self._typed = (line, slash["name"])
        if "<skill-context name=" not in text:
            return text
        for match in _CONTEXT.finditer(text):
            self._wrapped(line, match["name"], match["text"])
        return typed if typed.strip() and "<skill-context name=" not in typed else None

    def _wrapped(self, line: int, name: str, text: str) -> None:
        prefix = _PREFIX.match(text)
        if self._ahead[name] > 0:
            self._ahead[name] -= 1
            return
        self._ahead[name] -= 1
        if prefix:
            self._deliver(line, name, text[prefix.end() :], prefix["base"].strip())
        else:
            self._deliver(line, name, text, None)

    def _deliver(self, line: int, name: str, text: str, base: str | None) -> None:
        self._texts[name] = text
        waiting = (
            call
            for call in reversed(self._waiting)
            if _tail(call.fields.get("skill") or "") == _tail(name)
        )
        call = next(waiting, None)
        if call is not None:
            self._waiting.remove(call)
        slash = self._typed if call is None and self._typed else None
        if slash is not None and _tail(slash[1]) != _tail(name):
            slash = None
        self._typed = None if slash else self._typed
        if base and base.rpartition("/")[2] == _tail(name):
            self.run.add_skill_root(base.rpartition("/")[0])
        self.run.add_message(
            MAIN, "skill_body", text, line, skill=name, path=base,
            call_id=call.call_id if call else None, command_line=slash[0] if slash else None,
        )  # fmt: skip


def _tail(name: str) -> str:
    return name.rpartition(":")[2]
