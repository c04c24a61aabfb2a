"""Runs of bundled code: what they wrote, and whether a later action works with it."""

import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from skilljuror.judge.features.extraction import named_entries, tokens
from skilljuror.judge.replay.timeline import Acted
from skilljuror.judge.signals.restatement import Restated

_WRITES = re.compile(
    r"(?:^|[^=\-0-9])>{1,2}\s*[\w./~\"'$]|\s-o\s|--out|\btee\b"
    r"|\b(?:wrote|write|writing|written|saved?|saving|created?|generated?|exported?|updated?)\b"
    r"|\b(?:to_(?:csv|json|excel|parquet)|dump|write_text|writerow|savefig)\("
    r"|open\([^)\n]{0,200}['\"][wax]b?\+?['\"]",
    re.IGNORECASE,
)
_CHAIN = re.compile(r"&&|\|\||;")


@dataclass(frozen=True)
class Artifact:
    """A path that a run may have written."""

    feature: str
    """How the path is recognised."""
    line: str
    """The line of the run's command or output that names it."""
    marked: bool
    """Whether that line speaks of writing; else it only stands in the output."""


@dataclass(frozen=True)
class Touch:
    """An action that names a watched path."""

    action: Acted
    """The action."""
    clock: int
    """Its place in the agent's run."""
    line: str
    """The line that names it."""


class Runs:
    """What one agent's runs of bundled code wrote, and who works with it."""

    def __init__(self, generic: frozenset[str]) -> None:
        self.artifacts: dict[int, list[Artifact]] = defaultdict(list)
        """Position of a run's event -> what it may have written."""
        self.restated = Restated(generic)
        """The words that judge their outputs."""
        self.watched: set[str] = set()
        """Features of every artifact."""
        self._asked: set[str] = set()
        self._existing: set[str] = set()
        self._touches: dict[str, list[Touch]] = defaultdict(list)

    def prepare(self, i: int, output: Sequence[str], command: Sequence[str], script: str) -> None:
        """Note what a run may have written; the script itself is no artifact."""
        self.artifacts[i] = []
        for line in (*output, *command):
            if _WRITES.search(line):
                self._note(i, line, script, marked=True)
        for line in output:
            self._note(i, line, script, marked=False)

    def _note(self, i: int, line: str, script: str, *, marked: bool) -> None:
        for feature in path_features(line):
            if feature.rpartition("/")[2] != script:
                self.artifacts[i].append(Artifact(feature, line, marked))
                self.watched.add(feature)

    def start(self, i: int) -> None:
        """The agent starts a run: a path that is known to exist is not its artifact."""
        self.artifacts[i] = [
            one for one in self.artifacts[i] if one.marked or one.feature not in self._existing
        ]

    def hear(self, found: Iterable[str], *, prompt: bool) -> None:
        """Something named these: a prompt asks for paths, a result shows that they exist."""
        names = self.watched.intersection(found)
        if prompt:
            self._asked |= names
        else:
            self._existing |= names

    def act(self, action: Acted, clock: int, found: dict[str, str]) -> None:
        """The agent did something: its words may restate, its call may work with an artifact."""
        self.restated.act(action, clock)
        for feature in self.watched.intersection(found) if action.call else ():
            self._touches[feature].append(Touch(action, clock, found[feature]))
            self._existing.add(feature)

    def worked_with(self, i: int, after: int) -> Iterator[tuple[Artifact, Touch]]:
        """Artifacts of a run that a later action names, each with the first such action."""
        for artifact in self.artifacts.get(i, ()):
            touches = self._touches.get(artifact.feature, [])
            first = bisect_right(touches, after, key=lambda one: one.clock)
            if first < len(touches):
                yield artifact, touches[first]

    def asked_for(self, i: int) -> Iterator[Artifact]:
        """Artifacts of a run that a prompt names, on lines that speak of writing."""
        found = self.artifacts.get(i, ())
        return (one for one in found if one.marked and one.feature in self._asked)


def own_parts(command: Iterable[str], script: str) -> Iterator[str]:
    """The parts of a shell command that name a script; what runs before or after it is not its."""
    own = False
    for line in command:
        for i, part in enumerate(_CHAIN.split(line)):
            own = script in part or (own and i == 0)
            if own:
                yield part
        own = own and line.rstrip().endswith("\\")


def path_features(line: str) -> Iterator[str]:
    """Features by which a path of the line is found again."""
    names = {name.partition(":")[2] for name in named_entries(line)}
    for feature, _ in tokens(line):
        if feature.rpartition("/")[2] in names and ("/" in feature or "." in feature):
            yield feature
