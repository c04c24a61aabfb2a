"""Detect resources that led the agent to another Skill by naming it.

A list of all Skills does not count as an earlier mention; a prompt, a result, an earlier resource or the
agent's own text does. Only names with a joint ("using-git-worktrees") count: "merge" may be just a word.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from skilljuror.judge.replay.shown_text import EventGroup
from skilljuror.judge.replay.timeline import AgentAction

LED_WITHIN = 10
"""Maximum steps between a resource and the opening of the Skill that it names."""

_NAME = re.compile(r"[A-Za-z0-9]+(?:[_-][A-Za-z0-9]+)+")


@dataclass(frozen=True)
class LedOn:
    """A Skill that was opened after a resource named it."""

    action: AgentAction
    """The call that opened it."""
    clock: int
    """Its clock in the agent's run."""
    name: str
    """The Skill."""
    source: str
    """The line of the resource that names it."""


class SkillPointers:
    """Resources of one agent's run that led to Skills."""

    def __init__(self, names: Iterable[str]) -> None:
        self.led: dict[int, LedOn] = {}
        """Event -> the first Skill that it led to."""
        self._names = {name for name in names if _NAME.fullmatch(name)}
        self._known: set[str] = set()
        """Skills named so far."""
        self._pointers: dict[str, tuple[EventGroup, str, int]] = {}
        """Skill -> the events that named it first, the line, and the step after which it was shown."""

    def said(self, lines: Iterable[str]) -> None:
        """Record lines of a prompt, a result or the agent."""
        for line in lines if self._names else ():
            self._known |= self._names.intersection(_NAME.findall(line))

    def shown(self, group: EventGroup, own: Iterable[str], lines: Iterable[str], step: int) -> None:
        """Record lines that resources showed after a step; `own` are the names of their Skills."""
        names = self._names.difference(own)
        for line in lines if names else ():
            for name in names.intersection(_NAME.findall(line)) - self._known:
                self._known.add(name)
                self._pointers[name] = (group, line, step)

    def opened(self, name: str, action: AgentAction, clock: int) -> None:
        """Record a call that opens a Skill."""
        group, line, step = self._pointers.pop(name, ((), "", 0))
        if action.step.index <= step + LED_WITHIN:
            for i in group:
                self.led.setdefault(i, LedOn(action, clock, name, line))
        self._known.add(name)
