"""Search a trial's inputs for text that its arm should not see.

Every arm is searched for each Skill and layout that it does not offer, and for verifier and
solution, except text that the offered Skill contains too. Text that the agent wrote itself does not
count. A correct answer resembles the expected one, so text of solution and verifier counts only if
the call or its output names the file or its folder, or if half of a verifier's program was shown.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from pathlib import Path

from msgspec import Struct, field

from skilljuror.base.results import LeakSearch
from skilljuror.base.skill import class_of
from skilljuror.base.texts import LEAST, RUN, Fingerprints, run_digest, tokenize
from skilljuror.base.trajectory import Step, Trajectory
from skilljuror.layouts.build.protected_texts import (
    FOLDERS,
    ProtectedKind,
    ProtectedText,
    fingerprinted_tasks,
    fingerprints_of,
    protected_texts,
)

_EXCERPT = 30
"""Words of an excerpt."""


class _Source(Struct, frozen=True):
    """A file to search for."""

    kind: ProtectedKind
    path: str
    prints: Fingerprints
    null: bool
    """Whether it belongs to another task, to estimate chance matches."""

    def is_named(self, text: str) -> bool:
        """Whether a text names the file, or its folder in the task."""
        folder = FOLDERS.get(self.kind)
        return folder is None or any(
            name in text for name in (f"/{folder}", f"{folder}/", self.path.rpartition("/")[2])
        )

    @property
    def proves_itself(self) -> bool:
        """Whether showing half of it rules out that the agent wrote it as an answer."""
        return self.kind == "verifier" and class_of(self.path) == "code"


class _Arm(Struct, frozen=True):
    """Everything searched for in the trials of one task and variant."""

    sources: tuple[_Source, ...]
    owners: dict[int, tuple[int, ...]]
    """Fingerprint -> numbers of the sources that contain it."""
    prints: Fingerprints
    """Fingerprints of all sources."""


class _Seen(Struct):
    """Matches of one source."""

    digests: set[int] = field(default_factory=set)
    named: set[int] = field(default_factory=set)
    """Those in texts that name the file."""
    first: tuple[str, int, str] | None = None
    """(agent, step, excerpt) of the first match."""
    first_named: tuple[str, int, str] | None = None

    def counted(self, source: _Source) -> tuple[set[int], tuple[str, int, str] | None]:
        """Matches that prove the file was shown, and the first one."""
        whole = source.proves_itself and 2 * len(self.digests) >= len(source.prints.digests)
        return (self.digests, self.first) if whole else (self.named, self.first_named)


class _Shown(Struct, frozen=True):
    """A text that reached an agent."""

    agent: str
    step: int
    text: str
    asked: str
    """The call's request."""
    written: int
    """Number of steps in which the agent may have written it."""


def search_leaks(
    study: Path, task: str, variant: str | None, run: Trajectory
) -> tuple[LeakSearch, ...]:
    """Search a trial; return one row per kind of text, or none without protected texts on record."""
    arm = _arm(study, task, variant)
    seen = _search(arm, run) if arm.sources else {}
    kinds = dict.fromkeys(source.kind for source in arm.sources if not source.null)
    return tuple([_row(run.trajectory, kind, arm, seen) for kind in kinds])


def _search(arm: _Arm, run: Trajectory) -> dict[int, _Seen]:
    seen: dict[int, _Seen] = {}
    written = _Written(run.steps)
    for shown in _shown(run):
        words = tokenize(shown.text)
        hits = list(arm.prints.places(words))
        own = written.until(shown.written) if hits else frozenset()
        for at, digest in hits:
            if digest not in own:
                excerpt = " ".join(words[at : at + _EXCERPT])
                _note(arm, seen, shown, digest, excerpt)
    return seen


def _note(arm: _Arm, seen: dict[int, _Seen], shown: _Shown, digest: int, excerpt: str) -> None:
    """Record a shown fingerprint for every source that contains it."""
    place = shown.agent, shown.step, excerpt
    for number in arm.owners[digest]:
        one, source = seen.setdefault(number, _Seen()), arm.sources[number]
        one.digests.add(digest)
        one.first = one.first or place
        named = digest in one.named or source.is_named(shown.asked) or source.is_named(shown.text)
        if named:
            one.named.add(digest)
            one.first_named = one.first_named or place


class _Written:
    """Text written by the agents of a run, computed on demand."""

    def __init__(self, steps: Sequence[Step]) -> None:
        self._steps = steps
        self._done = 0
        self._digests: set[int] = set()

    def until(self, count: int) -> set[int]:
        """Fingerprints of text written in the first `count` steps."""
        for step in self._steps[self._done : count]:
            for text in _texts_of(step):
                words = tokenize(text)
                self._digests.update(
                    run_digest(words[at : at + RUN]) for at in range(len(words) - RUN + 1)
                )
        self._done = max(self._done, count)
        return self._digests


def _texts_of(step: Step) -> Iterator[str]:
    yield step.text
    yield step.reasoning
    for call in step.calls:
        yield from filter(None, (call.command, call.written))
        yield from (str(value) for value in call.arguments.values())


def _shown(run: Trajectory) -> Iterator[_Shown]:
    for message in run.messages:
        of_agent = message.kind == "prompt" and message.agent != "main"
        if message.kind != "summary" and not of_agent and not message.inherited:
            yield _Shown(message.agent, message.step, message.text, message.path or "", 0)
    for number, step in enumerate(run.steps, 1):
        for call in step.calls:
            if call.result is not None:
                asked = " ".join(map(str, (call.command, call.path, call.workdir, call.arguments)))
                yield _Shown(step.agent, step.index, call.result.text, asked, number)
    for message in run.messages:  # a history that a sub-agent was given, with words of its parent
        if message.inherited:
            yield _Shown(message.agent, message.step, message.text, "", len(run.steps))


def _row(trajectory: str, kind: ProtectedKind, arm: _Arm, seen: dict[int, _Seen]) -> LeakSearch:
    found, null = _Found(), _Found()
    for number, source in enumerate(arm.sources):
        if source.kind == kind:
            (null if source.null else found).add(source, seen.get(number))
    agent, step, excerpt = found.first or (None, None, "")
    return LeakSearch(
        trajectory=trajectory,
        kind=kind,
        searched=len(found.searched),
        found=len(found.digests),
        contaminated=len(found.digests) >= LEAST,
        sources=tuple([path for path, _ in found.sources.most_common()]),
        agent=agent,
        step=step,
        excerpt=excerpt,
        null_searched=len(null.searched) or None,
        null_found=len(null.digests) if null.searched else None,
    )


class _Found(Struct):
    """Results for the sources of one kind."""

    searched: set[int] = field(default_factory=set)
    digests: set[int] = field(default_factory=set)
    sources: Counter[str] = field(default_factory=Counter)
    first: tuple[str, int, str] | None = None

    def add(self, source: _Source, seen: _Seen | None) -> None:
        self.searched |= source.prints.digests
        digests, first = seen.counted(source) if seen else (set(), None)
        if digests:
            self.digests |= digests
            self.sources[source.path] = len(digests)
            if self.first is None or (first is not None and first[1] < self.first[1]):
                self.first = first


@lru_cache(maxsize=8)
def _arm(study: Path, task: str, variant: str | None) -> _Arm:
    own = protected_texts(fingerprints_of(study, task))
    sources = list(_wanted(own, variant, null=False))
    known = Fingerprints.union(row.prints for row in own).digests
    missing = {source.kind for source in sources}
    sources += _null(study, task, variant, known, missing) if sources else ()
    owners: dict[int, tuple[int, ...]] = {}
    for number, source in enumerate(sources):
        one = (number,)
        for digest in source.prints.digests:
            owners[digest] = owners[digest] + one if digest in owners else one
    return _Arm(tuple(sources), owners, Fingerprints.union(one.prints for one in sources))


def _wanted(rows: Sequence[ProtectedText], variant: str | None, *, null: bool) -> Iterator[_Source]:
    """Sources that no trial of an arm should show."""
    lacking = [row for row in rows if row.lacked_by and row.lacked_by == variant]
    mine = [
        row
        for row in rows
        if variant and row.kind in {"skill", "layout"} and row.variant in {None, variant}
    ]
    offered = Fingerprints.union(
        row.prints for row in mine if not row.lacked_by
    ).digests.difference(*(row.prints.digests for row in lacking))
    for row in rows:
        if _is_hidden(row, variant):
            yield _Source(row.kind, row.source, row.prints.without(offered), null)


def _is_hidden(row: ProtectedText, variant: str | None) -> bool:
    if row.kind == "skill":
        return row.lacked_by == variant
    return row.kind != "layout" or variant not in {None, row.variant}


def _null(
    study: Path,
    task: str,
    variant: str | None,
    known: frozenset[int],
    missing: set[ProtectedKind],
) -> Iterator[_Source]:
    """For each missing kind, sources of the next task that mostly differ from this task's."""
    names = fingerprinted_tasks(study)
    at = names.index(task)
    for name in (*names[at + 1 :], *names[:at]):
        rows = list(_wanted(protected_texts(fingerprints_of(study, name)), variant, null=True))
        for kind in sorted(missing):
            theirs = Fingerprints.union(row.prints for row in rows if row.kind == kind).digests
            if 2 * len(theirs - known) > len(theirs):
                missing.remove(kind)
                yield from _without(rows, kind, known)
        if not missing:
            return


def _without(
    rows: Iterable[_Source], kind: ProtectedKind, known: frozenset[int]
) -> Iterator[_Source]:
    for row in rows:
        if row.kind == kind:
            yield _Source(kind, row.path, row.prints.without(known), row.null)
