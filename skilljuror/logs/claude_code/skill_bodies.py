"""Match Skill bodies of Claude Code to the Skill call or slash command behind them."""

import re

from skilljuror.logs.assembly.builders import CallBuilder, TrajectoryBuilder

BODY_PREFIX = "Base directory for this skill: "
_AGAIN = re.compile(
    r"\s*(?:\(Re-invocation of /(?P<one>[^\s,]+)|Skill /(?P<other>\S+) (?:is already|was) loaded )"
)
"""Text in place of a body that was already loaded."""


def reloaded_skill(text: str) -> str | None:
    """Skill that a notice reports as already loaded, or None."""
    found = _AGAIN.match(text)
    return (found["one"] or found["other"]) if found else None


class SkillBodies:
    """Matches the text of a loaded Skill with its Skill call or slash command."""

    def __init__(self, run: TrajectoryBuilder) -> None:
        self.run = run
        self._slash: dict[str, tuple[int, str]] = {}
        """Agent -> (line, name) of the latest slash command."""
        self._waiting: dict[str, list[CallBuilder]] = {}
        """Agent -> Skill calls without a body so far."""

    def add_call(self, agent: str, call: CallBuilder) -> None:
        self._waiting.setdefault(agent, []).append(call)

    def add_command(self, agent: str, line: int, text: str) -> None:
        """Add a slash command; built-in ones have no body."""
        name = text.partition("<command-name>")[2].partition("</command-name>")[0]
        name = name.strip().lstrip("/")
        self._slash[agent] = (line, name)
        self.run.add_message(agent, "slash", text, line, skill=name or None)

    def add_body(self, agent: str, line: int, text: str, source_call: str | None) -> None:
        base = text[len(BODY_PREFIX) :].partition("\n")[0].strip().rstrip("/")
        root, _, folder = base.rpartition("/")
        call = self._answered(agent, folder, source_call)
        slash = None if call else self._slash_for(agent, folder)
        self.run.add_skill_root(root)
        self.run.add_message(
            agent,
            "skill_body",
            text,
            line,
            skill=(call.fields.get("skill") if call else None) or (slash or (0, folder))[1],
            path=base,
            call_id=call.call_id if call else source_call,
            command_line=slash[0] if slash else None,
        )

    def add_reload_notice(
        self, agent: str, line: int, text: str, name: str, source_call: str | None
    ) -> None:
        """Add a notice for a Skill that is already in the context."""
        call = self._answered(agent, _tail(name), source_call)
        slash = None if call else self._slash_for(agent, _tail(name))
        if call is not None or slash is not None:
            self.run.add_message(
                agent, "skill_body", text, line,
                skill=call.fields.get("skill") if call else name,
                call_id=call.call_id if call else source_call,
                command_line=slash[0] if slash else None,
            )  # fmt: skip
        else:
            self.run.add_message(agent, "other", text, line)

    def add_expansion(self, agent: str, line: int, text: str, source_call: str) -> bool:
        """Add the text of a command that a Skill call expanded; False if no call waits for it."""
        call = self._answered(agent, "", source_call)
        if call is None:
            return False
        skill = call.fields.get("skill")
        self.run.add_message(agent, "skill_body", text, line, skill=skill, call_id=call.call_id)
        return True

    def _slash_for(self, agent: str, folder: str) -> tuple[int, str] | None:
        slash = self._slash.pop(agent, None)
        return slash if slash and _tail(slash[1]) == folder else None

    def _answered(self, agent: str, folder: str, source_call: str | None) -> CallBuilder | None:
        """The call by id, else the last waiting call of that name."""
        waiting = self._waiting.get(agent, [])
        for call in reversed(waiting):
            by_name = source_call is None and _tail(call.fields.get("skill") or "") == folder
            if by_name or (source_call is not None and call.call_id == source_call):
                waiting.remove(call)
                return call
        return None


def _tail(name: str) -> str:
    return name.rpartition(":")[2]
