"""Who saw what when: knowledge units and resources by run, with the steps of first sight and first use."""

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from skilljuror.base.results import Verdict

FEWEST_WORDS = 3
"""Words by which a quote and a unit are recognised in each other."""
_WORD = re.compile(r"[^\W_]+")

Anchors = Sequence[dict[tuple[str, int], str]]
"""For each run (agent, step) -> id of the step on the page."""


@dataclass(frozen=True)
class Sight:
    """One sight or use."""

    words: str
    """As printed."""
    anchor: str = ""
    """Id of its step on the page; "" for none."""


NOT_OFFERED = (Sight("not offered"),)


@dataclass(frozen=True)
class SightRow:
    """Units or a resource that the runs saw and used in the same steps."""

    label: str
    """Text of the first unit, or name of the resource."""
    more: tuple[str, ...]
    """Texts of the other units."""
    cells: tuple[tuple[Sight, ...], ...]
    """For each run its first sight and first use; empty if it never saw it."""


def unit_rows(runs: Sequence[Any], anchors: Anchors) -> list[SightRow]:
    """Return the knowledge units of the task that all runs worked on, as each run met them: those with
    the same steps in every run are one row. Nothing for runs of several tasks and without a map."""
    if len({details.record.task if details.record else None for details in runs}) != 1:
        return []
    cells = [_unit_cells(details, anchors[number]) for number, details in enumerate(runs)]
    texts = {one.unit: one.text for details in runs for one in details.units}
    steps = [
        {one.unit: one.step for one in details.units if one.step is not None} for details in runs
    ]
    alike: dict[tuple[tuple[Sight, ...], ...], list[str]] = defaultdict(list)
    for unit in texts:
        alike[tuple(one.get(unit, NOT_OFFERED) for one in cells)].append(unit)
    last = max((step for one in steps for step in one.values()), default=0) + 1
    order = sorted(alike.items(), key=lambda row: [one.get(row[1][0], last) for one in steps])
    return [
        SightRow(texts[units[0]], tuple(texts[unit] for unit in units[1:]), row)
        for row, units in order
    ]


def _unit_cells(details: Any, anchors: dict[tuple[str, int], str]) -> dict[str, tuple[Sight, ...]]:
    """Unit -> its first sight and first use in one run; empty for a unit that was never shown."""
    used = _used_units(details)
    cells: dict[str, tuple[Sight, ...]] = {}
    for one in details.units:
        found = [] if one.step is None else [_sight("seen", one.agent, one.step, anchors)]
        if found and one.unit in used:
            found.append(_sight("used", *used[one.unit], anchors))
        cells[one.unit] = tuple(found)
    return cells


def resource_rows(runs: Sequence[Any], anchors: Anchors) -> list[SightRow]:
    """Return the resources of Skills with each run's first successful use, and the first step that a
    judge says shows it; those that more runs opened come first."""
    first: dict[str, dict[int, tuple[int, tuple[Sight, ...]]]] = defaultdict(dict)
    for number, details in enumerate(runs):
        taken = {one.event: one for one in details.verdicts if one.label == "yes"}
        for event in details.events:
            if not event.counts or event.phantom or event.ok is False:
                continue
            known = first[f"{event.skill}/{event.resource}"]
            step, found = known.get(number, (event.step, ()))
            sights = found or (_sight("step", event.agent, event.step, anchors[number]),)
            verdict = taken.get(event.event)
            if verdict and verdict.action_step and len(sights) == 1:
                used = _sight("used", event.agent, verdict.action_step, anchors[number])
                sights = (*sights, used)
            known[number] = (step, sights)
    rows = sorted(
        first.items(),
        key=lambda row: (-len(row[1]), min(step for step, _ in row[1].values()), row[0]),
    )
    return [
        SightRow(name, (), tuple(by.get(n, (0, ()))[1] for n in range(len(runs))))
        for name, by in rows
    ]


def _sight(word: str, agent: str, step: int, anchors: dict[tuple[str, int], str]) -> Sight:
    by = "" if agent == "main" else f" ({agent})"
    return Sight(f"{word} {step}{by}", anchors.get((agent, step), ""))


def _used_units(details: Any) -> dict[str, tuple[str, int]]:
    """Unit -> agent and first step that shows its use, by the quotes of verdicts with uptake."""
    agents = {event.event: event.agent for event in details.events}
    quotes = [
        (f" {_words(one.source_quote)} ", agents.get(one.event, "main"), one.action_step)
        for one in _by_step(details.verdicts)
        if one.source_quote and one.action_step
    ]
    used: dict[str, tuple[str, int]] = {}
    for unit in details.units:
        words = f" {_words(unit.text)} "
        for quote, agent, step in quotes:
            short, long = sorted((words, quote), key=len)
            if len(short.split()) >= FEWEST_WORDS and short in long:
                used.setdefault(unit.unit, (agent, step))
                break
    return used


def _by_step(verdicts: Iterable[Verdict]) -> list[Verdict]:
    taken = [one for one in verdicts if one.label == "yes"]
    return sorted(taken, key=lambda one: one.action_step or 0)


def _words(text: str) -> str:
    return " ".join(_WORD.findall(text.lower()))
