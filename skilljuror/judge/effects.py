"""Local effects of an agent's calls, from the log: the link between a resource's use and the outcome.

    failed       the call failed
    error_gone   it succeeded, and a command that failed before it succeeds when rerun after it
    wrote        it succeeded, and wrote or edited a file
    worked       it succeeded

A call with an unknown result has no effect.
"""

from collections.abc import Iterable, Iterator, Sequence

from skilljuror.base.results import Effect, LocalEffect
from skilljuror.base.trajectory import ResourceEvent, Step, ToolCall, Trajectory

NEAR = 20
"""Maximum calls before the success of a command that may have fixed it."""

QUOTE = 200
"""Maximum characters of a quote."""


def effects(
    trial: str, trajectory: Trajectory, events: Sequence[ResourceEvent]
) -> list[LocalEffect]:
    """Return the effects of all calls after an agent's first counted event, one per place in the
    log; none for a place whose calls differ."""
    first: dict[str, int] = {}
    for event in events:
        if event.counts:
            first[event.agent] = min(event.step, first.get(event.agent, event.step))
    found: dict[tuple[str, int, int], LocalEffect | None] = {}
    for agent, start in first.items():
        steps = [step for step in trajectory.steps if step.agent == agent]
        for effect in _effects_of(trial, steps):
            place = (agent, effect.step, effect.line)
            if effect.step <= start:
                continue
            before = found.get(place, effect)
            found[place] = before if before and before.effect == effect.effect else None
    return [effect for effect in found.values() if effect]


def _effects_of(trial: str, steps: Iterable[Step]) -> Iterator[LocalEffect]:
    """The effects of one agent's calls, in order."""
    made: list[LocalEffect] = []
    failed: dict[str, int] = {}
    for step in steps:
        for call in step.calls:
            effect = _effect(trial, step, call)
            if effect is None:
                continue
            command = " ".join((call.command or "").split())
            if effect.effect == "failed":
                failed[command] = len(made) + 1
            elif command and command in failed:
                since = max(failed.pop(command), len(made) - NEAR)
                made[since:] = [_fixed(one, effect) for one in made[since:]]
            made.append(effect)
    yield from made


def _fixed(effect: LocalEffect, again: LocalEffect) -> LocalEffect:
    """The effect of a call between the failure of a command and its success."""
    if effect.effect not in {"wrote", "worked"}:
        return effect
    return LocalEffect(
        effect.trial, effect.agent, effect.step, effect.line, "error_gone", again.step, again.quote
    )


def _effect(trial: str, step: Step, call: ToolCall) -> LocalEffect | None:
    result = call.result
    if result is None or result.ok is None:
        return None
    lines = [line.strip() for line in result.text.splitlines() if line.strip()]
    effect: Effect = "worked" if result.ok else "failed"
    shown = lines[:1] if result.ok else lines[-1:]
    if result.ok and call.action in {"write", "edit"}:
        effect, shown = "wrote", [call.path] if call.path else []
    quote = shown[0][:QUOTE] if shown else None
    return LocalEffect(trial, step.agent, step.index, call.line, effect, step.index, quote)
