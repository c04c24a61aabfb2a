"""Runs of bundled code: files that they wrote, and later actions that use them."""

import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from skilljuror.judge.features.extraction import entry_features, names_and_numbers
from skilljuror.judge.replay.timeline import AgentAction
from skilljuror.judge.signals.restatement import RestatementDetector

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
    """Feature of the path."""
    line: str
    """The line of the run's command or output that names it."""
    written: bool
    """Whether that line mentions writing; else the path is only in the output."""


@dataclass(frozen=True)
class ArtifactUse:
    """A call that names an artifact."""

    action: AgentAction
    """The action."""
    clock: int
    """Its clock in the agent's run."""
    line: str
    """The line that names it."""


class ScriptRuns:
    """Artifacts of one agent's runs of bundled code, and later calls that use them."""

    def __init__(self, generic: frozenset[str]) -> None:
        self.artifacts: dict[int, list[Artifact]] = defaultdict(list)
        """Event of a run -> its possible artifacts."""
        self.restatements = RestatementDetector(generic)
        """The words that restate their outputs."""
        self.features: set[str] = set()
        """Features of every artifact."""
        self._asked: set[str] = set()
        self._existing: set[str] = set()
        self._uses: dict[str, list[ArtifactUse]] = defaultdict(list)

    def prepare(self, i: int, output: Sequence[str], command: Sequence[str], script: str) -> None:
        """Collect possible artifacts of the run of event `i`; the script itself is not one."""
        self.artifacts[i] = []
        for line in (*output, *command):
            if _WRITES.search(line):
                self._note(i, line, script, written=True)
        for line in output:
            self._note(i, line, script, written=False)

    def _note(self, i: int, line: str, script: str, *, written: bool) -> None:
        for feature in path_features(line):
            if feature.rpartition("/")[2] != script:
                self.artifacts[i].append(Artifact(feature, line, written))
                self.features.add(feature)

    def start(self, i: int) -> None:
        """Record the start of a run: an existing path is not its artifact."""
        self.artifacts[i] = [
            artifact
            for artifact in self.artifacts[i]
            if artifact.written or artifact.feature not in self._existing
        ]

    def mentioned(self, features: Iterable[str], *, prompt: bool) -> None:
        """Record mentioned features: a prompt requires paths, a result shows that they exist."""
        names = self.features.intersection(features)
        if prompt:
            self._asked |= names
        else:
            self._existing |= names

    def act(self, action: AgentAction, clock: int, lines: dict[str, str]) -> None:
        """Record an action: words may restate an output, a call may use an artifact. `lines` maps each
        indexed feature in its text to a line."""
        self.restatements.act(action, clock)
        for feature in self.features.intersection(lines) if action.call else ():
            self._uses[feature].append(ArtifactUse(action, clock, lines[feature]))
            self._existing.add(feature)

    def worked_with(self, i: int, after: int) -> Iterator[tuple[Artifact, ArtifactUse]]:
        """Yield artifacts of a run that a call after that clock names, each with the first such call."""
        for artifact in self.artifacts.get(i, ()):
            uses = self._uses.get(artifact.feature, [])
            first = bisect_right(uses, after, key=lambda use: use.clock)
            if first < len(uses):
                yield artifact, uses[first]

    def asked_for(self, i: int) -> Iterator[Artifact]:
        """Yield artifacts of a run that a prompt names, on lines that mention writing."""
        artifacts = self.artifacts.get(i, ())
        return (item for item in artifacts if item.written and item.feature in self._asked)


def parts_running(command: Iterable[str], script: str) -> Iterator[str]:
    """Yield the parts of a shell command that name a script, without other commands of the line."""
    inside = False
    for line in command:
        for i, part in enumerate(_CHAIN.split(line)):
            inside = script in part or (inside and i == 0)
            if inside:
                yield part
        inside = inside and line.rstrip().endswith("\\")


def path_features(line: str) -> Iterator[str]:
    """Yield the features of the paths on a line."""
    names = {name.partition(":")[2] for name in entry_features(line)}
    for feature, _ in names_and_numbers(line):
        if feature.rpartition("/")[2] in names and ("/" in feature or "." in feature):
            yield feature
