"""Count a run once although it may leave several logs (events.md, "One run, several files").

A light `Capture` per log suffices: ids, and a digest of eight bytes per step of the main agent. A
corpus is never in memory.
"""

from collections.abc import Iterable
from hashlib import blake2b

from msgspec import Struct

from skilljuror.models.trajectory import Step, Trajectory
from skilljuror.parsers.base import LogKind
from skilljuror.parsers.read import parser

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

    @property
    def key(self) -> str:
        """Key to store the run under."""
        return "~".join(filter(None, (self.capture.trajectory, self.branch)))


def capture_of(source: str, trajectory: Trajectory, *, alone: bool = False) -> Capture:
    """Return a run's comparison key; for a run that has no other captures (`alone`) the chain stays
    empty."""
    return Capture(
        source=source,
        trajectory=trajectory.trajectory,
        session=trajectory.session or trajectory.trajectory,
        kind=parser(trajectory.format).kind,
        steps=len(trajectory.steps),
        chain=() if alone else _chain(trajectory.steps_of("main")),
    )


def deduplicate(captures: Iterable[Capture]) -> list[CaptureDecision]:
    """Return one decision per capture, in the given order.

    Per session the most native kind wins; among these, a capture that is a prefix of another is
    dropped, and diverging captures are kept as branches.
    """
    given = list(captures)
    sessions: dict[str, list[int]] = {}
    for index, capture in enumerate(given):
        sessions.setdefault(capture.session, []).append(index)
    decisions: dict[int, CaptureDecision] = {}
    for group in sessions.values():
        decisions.update(_decide(given, group))
    return [decisions[index] for index in range(len(given))]


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


def _chain(steps: Iterable[Step]) -> tuple[bytes, ...]:
    names = [_identity(step) for step in steps]
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
