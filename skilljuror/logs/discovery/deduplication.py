"""Count a run once although it may leave several logs (events.md, "One run, several files").

A light `Capture` per log suffices: ids, and a digest of eight bytes per step of the main agent. A
corpus is never in memory.
"""

from collections.abc import Iterable
from hashlib import blake2b
from itertools import takewhile, zip_longest
from math import inf
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from skilljuror.base.trajectory import Step, Trajectory
from skilljuror.logs.assembly.builders import MAIN, inherit
from skilljuror.logs.base import LogKind
from skilljuror.logs.read import parser

_DIGEST = 8


class Capture(Struct, frozen=True):
    """Comparison key of one log of a run."""

    source: str
    trajectory: str
    """Key of the run in the log."""
    session: str
    """Session id shared by several captures; defaults to the trajectory's key."""
    kind: LogKind
    steps: int
    """Steps of all agents."""
    chain: tuple[bytes, ...]
    """Per step of the main agent, a digest of everything up to it: equal digests mean equal history."""
    copied: tuple[bytes, ...] = ()
    """Likewise for its first steps with an id and a time of their own, by which a copy in another
    session is known."""
    times: tuple[float, float] = (inf, inf)
    """Start and end; infinite if unknown."""


class CaptureDecision(Struct, frozen=True):
    """Decision on one capture."""

    capture: Capture
    kept: bool
    """Whether it counts."""
    winner: str | None = None
    """Source that counts instead."""
    reason: str | None = None
    branch: str | None = None
    """Name of its branch, after its last step, if the session was rewound and continued differently,
    else None: the main line keeps its key. It is stored as `<trajectory>~<branch>`."""
    inherited: int = 0
    """First steps of its main agent that an earlier capture counts."""

    @property
    def key(self) -> str:
        """Key to store the run under."""
        return "~".join(filter(None, (self.capture.trajectory, self.branch)))


def capture_of(source: str, trajectory: Trajectory, *, alone: bool = False) -> Capture:
    """Return a run's comparison key; for a run that has no other captures (`alone`) the chain stays
    empty."""
    steps = () if alone else trajectory.steps_of(MAIN)
    dated = takewhile(lambda step: step.key and step.timestamp, steps)
    return Capture(
        source=source,
        trajectory=trajectory.trajectory,
        session=trajectory.session or trajectory.trajectory,
        kind=parser(trajectory.format).kind,
        steps=len(trajectory.steps),
        chain=_chain(map(_identity, steps)),
        copied=_chain(f"{step.timestamp} {step.key}" for step in dated),
        times=(trajectory.started_at or inf, trajectory.finished_at or inf),
    )


def own_part(run: Trajectory, inherited: int) -> Trajectory:
    """Return a run without its main agent's first steps, and the sub-agents that these started, as
    another capture counts them. Its usage is unknown if the log states it for the whole only."""
    if not inherited:
        return run
    calls = (call for step in run.steps_of(MAIN)[:inherited] for call in step.calls)
    children = {call.agent: len(run.steps) for call in calls if call.agent}
    own = inherit(run, {**children, MAIN: inherited})
    begun = min((step.timestamp for step in own.steps if step.timestamp), default=run.started_at)
    usage = None if own.usage is run.usage else own.usage
    return replace(own, started_at=begun, usage=usage)


def deduplicate(captures: Iterable[Capture]) -> list[CaptureDecision]:
    """Return one decision per capture, in the given order.

    Per session the most native kind wins; among these, a capture that is a prefix of another is
    dropped, and diverging captures are kept as branches. Of captures that begin alike, the first by
    time counts what they share.
    """
    given = list(captures)
    sessions: dict[str, list[int]] = {}
    for index, capture in enumerate(given):
        sessions.setdefault(capture.session, []).append(index)
    decisions: dict[int, CaptureDecision] = {}
    for group in sessions.values():
        decisions.update(_decide(given, group))
    return _shared([decisions[index] for index in range(len(given))])


def _shared(decisions: list[CaptureDecision]) -> list[CaptureDecision]:
    """Add the number of steps that an earlier kept capture counts."""

    def by_time(at: int) -> tuple[Any, ...]:
        one = decisions[at]
        start, end = one.capture.times
        return start, one.branch is not None, end, one.capture.source, one.capture.trajectory

    owned: set[tuple[str, bytes]] = set()
    for at in sorted(range(len(decisions)), key=by_time):
        one = decisions[at].capture
        if decisions[at].kept:
            alike = [(one.session, digest) for digest in one.chain]
            copies = [("", digest) for digest in one.copied]
            inherited = sum(a in owned or b in owned for a, b in zip_longest(alike, copies))
            decisions[at] = replace(decisions[at], inherited=inherited)
            owned.update(alike, copies)
    return decisions


def _decide(given: list[Capture], group: list[int]) -> dict[int, CaptureDecision]:
    best = min(given[index].kind for index in group)

    def by_length(index: int) -> tuple[bool, int, int, str]:
        """Native first, then the longest, then most sub-agent steps, then by path."""
        one = given[index]
        return one.kind != best, -len(one.chain), -one.steps, one.source

    kept: list[int] = []
    decisions: dict[int, CaptureDecision] = {}
    for index in sorted(group, key=by_length):
        one = given[index]
        if one.kind != best:
            winner, reason = kept[0], "a more native log of the run is used"
        else:
            longer = (other for other in kept if _is_prefix(one.chain, given[other].chain))
            winner, reason = next(longer, index), "duplicate of another log of the run"
        if winner != index:
            source = given[winner].source
            decisions[index] = CaptureDecision(one, kept=False, winner=source, reason=reason)
            continue
        branch = one.chain[-1].hex()[:8] if kept and one.chain else None
        decisions[index] = CaptureDecision(one, kept=True, branch=branch)
        kept.append(index)
    return decisions


def _is_prefix(short: tuple[bytes, ...], long: tuple[bytes, ...]) -> bool:
    """Whether the main agent's steps are a prefix of the other's."""
    return not short or short[-1] == long[len(short) - 1]


def _chain(identities: Iterable[str]) -> tuple[bytes, ...]:
    names = [*identities]
    while names and not names[-1]:
        names.pop()  # cut off before any distinguishing content
    chain: list[bytes] = []
    before = b""
    for name in names:
        before = blake2b(before + name.encode("utf-8", "replace"), digest_size=_DIGEST).digest()
        chain.append(before)
    return tuple(chain)


def _identity(step: Step) -> str:
    """Identity of a step from its first record on: id, else text, else first call."""
    if step.key is not None or step.text or not step.calls:
        return step.key or step.text
    return step.calls[0].call_id or step.calls[0].name
