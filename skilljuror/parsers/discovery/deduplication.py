"""One run may leave several logs; each run counts once (events.md, "One run, several files").

Decisions need only a light `Capture` per log: the ids and a chain of digests over the
main agent's steps, eight bytes each, so a corpus is never held in memory.
"""

from collections.abc import Iterable
from hashlib import blake2b

from msgspec import Struct

from skilljuror.models.trajectory import Step, Trajectory
from skilljuror.parsers.base import LogKind
from skilljuror.parsers.read import parser

_DIGEST = 8


class Capture(Struct, frozen=True):
    """The light key of one log of a run."""

    source: str
    """Path of the source."""
    trajectory: str
    """Key of the run as the log gives it."""
    session: str
    """Session id that several captures share; the trajectory's key where there is none."""
    kind: LogKind
    """What the log is to its agent."""
    steps: int
    """Steps of all agents."""
    chain: tuple[bytes, ...]
    """Per step of the main agent, the digest of everything up to it: equal at one place means
    equal before it."""


class CaptureDecision(Struct, frozen=True):
    """What becomes of a capture."""

    capture: Capture
    """The capture."""
    kept: bool
    """Whether it is the one to count."""
    winner: str | None = None
    """Source that is counted in its place."""
    reason: str | None = None
    """Why it lost."""
    branch: str | None = None
    """Name of its branch, where the session was rewound and went on another way; None otherwise.
    `<trajectory>~<branch>` is then the key to store it under."""

    @property
    def key(self) -> str:
        """Key to store the run under."""
        if self.branch is None:
            return self.capture.trajectory
        return f"{self.capture.trajectory}~{self.branch}"


def capture_of(source: str, trajectory: Trajectory, *, alone: bool = False) -> Capture:
    """The light key of a parsed run; of one that no other can be a capture of (`alone`) there is
    nothing to compare, and its chain stays empty."""
    return Capture(
        source=source,
        trajectory=trajectory.trajectory,
        session=trajectory.session or trajectory.trajectory,
        kind=parser(trajectory.format).kind,
        steps=len(trajectory.steps),
        chain=() if alone else _chain(trajectory.steps_of("main")),
    )


def deduplicate(captures: Iterable[Capture]) -> list[CaptureDecision]:
    """One decision per capture, in the order given.

    Among the captures of one session the most native kind wins; within it a capture that
    is a prefix of another gives way to it; captures that diverge are all kept, as branches.
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
    native = [index for index in group if given[index].kind == best]
    longest = sorted(native, key=lambda index: _rank(given[index]))
    kept: list[int] = []
    decisions: dict[int, CaptureDecision] = {}
    for index in longest:
        winner = next((other for other in kept if _is_prefix(given[index], given[other])), None)
        if winner is None:
            kept.append(index)
        else:
            decisions[index] = _lost(given, index, winner, "another capture of the run holds it")
    for index in kept:
        decisions[index] = CaptureDecision(
            given[index], kept=True, branch=_branch(given, index, kept)
        )
    for index in group:
        if index not in decisions:
            decisions[index] = _lost(given, index, kept[0], "a more native log of the run was read")
    return decisions


def _rank(capture: Capture) -> tuple[int, int, str]:
    """Longest first; of equals the one with more sub-agent steps, then the first path."""
    return (-len(capture.chain), -capture.steps, capture.source)


def _is_prefix(short: Capture, long: Capture) -> bool:
    """Whether the main agent's steps are the first ones of the other's."""
    return not short.chain or short.chain[-1] == long.chain[len(short.chain) - 1]


def _lost(given: list[Capture], index: int, winner: int, reason: str) -> CaptureDecision:
    return CaptureDecision(given[index], kept=False, winner=given[winner].source, reason=reason)


def _branch(given: list[Capture], index: int, kept: list[int]) -> str | None:
    """The main line keeps its key; every other branch is named after its last step."""
    if index == kept[0] or not given[index].chain:
        return None
    return given[index].chain[-1].hex()[:8]


def _chain(steps: Iterable[Step]) -> tuple[bytes, ...]:
    names = [_identity(step) for step in steps]
    while names and not names[-1]:
        names.pop()  # cut off before the response said anything that tells it from others
    chain: list[bytes] = []
    before = b""
    for name in names:
        before = blake2b(before + name.encode("utf-8", "replace"), digest_size=_DIGEST).digest()
        chain.append(before)
    return tuple(chain)


def _identity(step: Step) -> str:
    """What a step has from its first record on: its id, else its words, else its first call."""
    if step.key is not None or step.text or not step.calls:
        return step.key or step.text
    return step.calls[0].call_id or step.calls[0].name
