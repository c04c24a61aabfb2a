"""A resource that names another Skill, which the agent then opens: the way to it came from there.

That a list of all Skills names it as well does not matter: the list names them all alike. Where a
prompt, a result, an earlier resource or the agent itself had named it before, nothing points. Names
are those with a joint ("using-git-worktrees"): "merge" may be just a word.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from skilljuror.judge.replay.shown_text import EventGroup
from skilljuror.judge.replay.timeline import AgentAction

LED_WITHIN = 10
"""Steps after a resource was shown within which the Skill that it names has to be opened."""

_NAME = re.compile(r"[A-Za-z0-9]+(?:[_-][A-Za-z0-9]+)+")


@dataclass(frozen=True)
class LedOn:
    """A Skill that was opened where a resource pointed to it."""

    action: AgentAction
    """The call that opened it."""
    clock: int
    """Its place in the agent's run."""
    name: str
    """The Skill."""
    source: str
    """The line of the resource that names it."""


class SkillPointers:
    """Which resources of one agent's run led to which Skills."""

    def __init__(self, names: Iterable[str]) -> None:
        self.led: dict[int, LedOn] = {}
        """Event -> the first Skill that it led to."""
        self._names = {name for name in names if _NAME.fullmatch(name)}
        self._known: set[str] = set()
        """Skills that something named already."""
        self._pointers: dict[str, tuple[EventGroup, str, int]] = {}
        """Skill -> the events that named it first, the line, and the step after which it was shown."""

    def said(self, lines: Iterable[str]) -> None:
        """A prompt, a result or the agent said these."""
        for line in lines if self._names else ():
            self._known |= self._names.intersection(_NAME.findall(line))

    def shown(self, group: EventGroup, own: Iterable[str], lines: Iterable[str], step: int) -> None:
        """Resources showed these after a step; `own` are the names of their Skills."""
        names = self._names.difference(own)
        for line in lines if names else ():
            for name in names.intersection(_NAME.findall(line)) - self._known:
                self._known.add(name)
                self._pointers[name] = (group, line, step)

    def opened(self, name: str, action: AgentAction, clock: int) -> None:
        """A call opens a Skill."""
        group, line, step = self._pointers.pop(name, ((), "", 0))
        if action.step.index <= step + LED_WITHIN:
            for i in group:
                self.led.setdefault(i, LedOn(action, clock, name, line))
        self._known.add(name)
