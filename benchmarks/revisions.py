"""The verdict of `skilljuror audit` on changes that authors made, next to the verdict of people who read them.

    python -m benchmarks.revisions [--repos DIR] [--splits DIR] [--policy edited] [--points] [--table FILE]

`revisions.tsv` lists thirty commits and eleven splits with everything a reader wanted to be told, one line a point, or one
line for a change with nothing to tell. A commit is read from the bare repository DIR/OWNER+NAME/repo; a split (commit
`-`) from the folders `before` and `after` below DIR/NAME. A change whose texts are not there is named and left out. A
point is shown if a red or yellow finding is in the same file, at most three lines away, of the version before or after; a row says how many would be if they stood at random lines.
`--points` lists each point with the finding that shows it.
"""

import argparse
import statistics
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path
from posixpath import basename, dirname
from typing import NamedTuple

from skilljuror.audit.audit import EDITED, audit, audit_edit
from skilljuror.audit.gates.policies import policies
from skilljuror.audit.gates.policies import policy as load_policy
from skilljuror.base.build import AuditResult, Finding, GateVerdict
from skilljuror.base.errors import BundleError, SkilljurorError, UsageError
from skilljuror.base.skill import Bundle, is_root_name
from skilljuror.measures.rates import wilson_interval
from skilljuror.report.audit import AuditReport, as_text, side_of
from skilljuror.skill.bundles import load_bundle
from skilljuror.skill.revision import OBJECT, Repository

TABLE = Path(__file__).parent / "revisions.tsv"
COLUMNS = ("repository", "commit", "folder", "edit", "verdict", "kind", "before", "after", "what")
COLOURS = ("red", "yellow", "green")
NEAR = 3
"""Lines between a point and the finding that shows it, at most."""
_COLOUR_OF: dict[GateVerdict, str] = {"fail": "red", "review": "yellow", "pass": "green"}
_UNDER = "skill"  # folder of the Skill in a bundle


class Place(NamedTuple):
    """A line of a file of the Skill."""

    file: str
    line: int


class Point(NamedTuple):
    """What a reader wanted to be told."""

    verdict: str
    kind: str
    before: Place | None
    after: Place | None
    what: str


class Revision(NamedTuple):
    """A change of a Skill."""

    repository: str
    commit: str
    """Hash, or "-" for a split that is kept as two folders."""
    folder: str
    edit: str
    """"split" or "revise"."""
    points: tuple[Point, ...]

    @property
    def name(self) -> str:
        return basename(self.folder) + ("" if self.commit == "-" else f"@{self.commit[:7]}")

    @property
    def verdict(self) -> str:
        """The reader's verdict."""
        return min((point.verdict for point in self.points), key=COLOURS.index, default="green")


class Judged(NamedTuple):
    """A change and what the audit says of it."""

    revision: Revision
    sides: tuple[Bundle, Bundle]
    """The Skill before and after."""
    audit: AuditResult
    lines: int
    """Lines of plain text that the command prints."""
    seconds: float

    @property
    def verdict(self) -> str:
        return _COLOUR_OF[self.audit.verdict]

    def findings(self, *colours: str) -> list[Finding]:
        """The findings that decide: alone, each would make the verdict of its colour."""
        policy = load_policy(self.audit.policy)
        return [one for one in self.audit.own if _COLOUR_OF[policy.verdict([one], 1)] in colours]

    def showing(self, point: Point, *colours: str) -> Finding | None:
        """The first finding of the colours that shows a point."""
        found = (one for colour in colours for one in self.findings(colour))
        return next((one for one in found if _is_near(one, point)), None)

    def chance(self, point: Point, *colours: str) -> float:
        """How likely a point at other lines of the same files would be shown."""
        missed = 1.0
        for place, bundle, side in zip(point[2:4], self.sides, ("source", "variant"), strict=True):
            if place:
                file = f"{_UNDER}/{place.file}"
                lines = {
                    line
                    for one in self.findings(*colours)
                    if side_of(one) == side and one.file == file and one.line
                    for line in range(one.line - NEAR, one.line + NEAR + 1)
                }
                count = _line_count(bundle, file)
                missed *= 1 - len(lines & set(range(1, count + 1))) / count
        return 1 - missed


def _is_near(finding: Finding, point: Point) -> bool:
    place = point.before if side_of(finding) == "source" else point.after
    return bool(
        place
        and finding.line
        and finding.file.removeprefix(f"{_UNDER}/") == place.file
        and abs(finding.line - place.line) <= NEAR
    )


def _line_count(bundle: Bundle, file: str) -> int:
    if file not in bundle.files:
        raise UsageError(
            f"the table names {file.partition('/')[2]}, which is no file of that version"
        )
    return len((bundle.files[file].text or "").split("\n"))


# ---- the table of the reader ----------------------------------------------------------------------


def read_table(path: Path = TABLE) -> list[Revision]:
    """Return the changes of a table, in its order. Raises UsageError for an invalid line."""
    lines = path.read_text(encoding="utf-8").splitlines()
    rows = [(number, tuple(line.split("\t"))) for number, line in enumerate(lines, 1)]
    if not rows or rows[0][1] != COLUMNS:
        raise UsageError(f"{path.name}:1: the columns must be {', '.join(COLUMNS)}")
    for number, row in rows[1:]:
        if len(row) != len(COLUMNS):
            raise UsageError(f"{path.name}:{number}: {len(row)} columns; write {len(COLUMNS)}")
    revisions = []
    for (repository, commit, folder, edit), group in groupby(rows[1:], lambda row: row[1][:4]):
        points = (_point(f"{path.name}:{number}", row[4:]) for number, row in group)
        revisions.append(Revision(repository, commit, folder, edit, tuple(filter(None, points))))
    return revisions


def _point(where: str, cells: Sequence[str]) -> Point | None:
    """The point of a line; None for a change with nothing to tell."""
    verdict, kind, before, after, what = cells
    if verdict not in COLOURS:
        raise UsageError(f"{where}: verdict {verdict!r}; choose {', '.join(COLOURS)}")
    if verdict == "green":
        return None
    return Point(verdict, kind, _place(where, before), _place(where, after), what)


def _place(where: str, text: str) -> Place | None:
    file, _, line = text.rpartition(":")
    if text != "-" and not (file and line.isdigit()):
        raise UsageError(f"{where}: place {text!r}; write FILE:LINE, or -")
    return Place(file, int(line)) if file else None


# ---- the texts ------------------------------------------------------------------------------------


def texts_of(
    revision: Revision, repos: Path | None, splits: Path | None
) -> tuple[Bundle, Bundle, list[Bundle]] | None:
    """Return the Skill before and after, and the Skills that are new next to it; None without a folder to read from.

    Raises BundleError if a version cannot be read.
    """
    if revision.commit == "-":
        if splits is None:
            return None
        sides = (load_bundle(splits / revision.folder / side, under=_UNDER) for side in ("before", "after"))  # fmt: skip
        return next(sides), next(sides), []
    if repos is None:
        return None
    folder = repos / revision.repository.replace("/", "+") / "repo"
    if not folder.is_dir():
        raise BundleError(f"no git repository at {folder}; clone {revision.repository} there (--bare)")  # fmt: skip
    repository = Repository(revision.repository, folder)
    before, after = (
        _load(repository, f"{commit}:{revision.folder}", _UNDER)
        for commit in (f"{revision.commit}^", revision.commit)
    )
    beside = _new_beside(repository, revision)
    return before, after, [_load(repository, f"{revision.commit}:{one}", basename(one)) for one in beside]  # fmt: skip


def _load(repository: Repository, tree: str, under: str) -> Bundle:
    return repository.load(repository.text(*OBJECT, tree), basename(tree), under)


def _new_beside(repository: Repository, revision: Revision) -> list[str]:
    """Folders of the Skills next to one that the commit added."""
    now, then = (
        {
            dirname(path)
            for *_, path in repository.entries(f"{commit}^{{tree}}")
            if is_root_name(path) and dirname(dirname(path)) == dirname(revision.folder)
        }
        for commit in (revision.commit, f"{revision.commit}^")
    )
    return sorted(now - then - {revision.folder})


def judge(revision: Revision, texts: tuple[Bundle, Bundle, list[Bundle]], policy: str) -> Judged:
    """Return what the audit says of a change."""
    before, after, elsewhere = texts
    start = time.perf_counter()
    if policy == EDITED:
        judged = audit_edit(before, after, elsewhere=elsewhere)
    else:
        judged = audit(before, after, "", policy)
    seconds = time.perf_counter() - start
    report = AuditReport("before", "after", judged, lambda side, file: file)
    return Judged(revision, (before, after), judged, as_text(report).count("\n") + 1, seconds)


# ---- what is printed ------------------------------------------------------------------------------


def table(judged: Sequence[Judged]) -> Iterator[str]:
    """A row for each change."""
    yield "| change | reader | ours | red | yellow | lines | seconds |\n|---|---|---|---|---|---|---|"
    for one in judged:
        counts = f"{len(one.findings('red'))} | {len(one.findings('yellow'))}"
        yield (
            f"| {one.revision.name} | {one.revision.verdict} | {one.verdict} | {counts} |"
            f" {one.lines} | {one.seconds:.1f} |"
        )


def summary(judged: Sequence[Judged], known: int) -> Iterator[str]:
    """Shares of the verdicts, and which points are shown."""
    yield f"{len(judged)} of {known} changes judged under policy {judged[0].audit.policy}."
    verdicts = Counter((one.revision.verdict, one.verdict) for one in judged)
    for colour in COLOURS:
        ours = [verdicts[colour, one] for one in COLOURS]
        yield f"{colour} for the reader: {sum(ours)}; ours red {ours[0]}, yellow {ours[1]}, green {ours[2]}."
    red = sum(one.verdict == "red" for one in judged)
    yield f"Red: {red} of {len(judged)} ({share(red, len(judged))}). Lines of output: median {statistics.median(one.lines for one in judged):g}."
    found = [(one, finding) for one in judged for finding in one.findings("red")]
    near = sum(any(_is_near(finding, point) for point in one.revision.points) for one, finding in found)  # fmt: skip
    yield f"Red findings: {len(found)}, of which at a point of the reader: {near}.\n"
    yield from _points_shown(judged)


_WAYS = (("red", ("red", "yellow")), ("red", ("red",)), ("yellow", ("red", "yellow")))
"""Verdict of the points of a column, and the colours of the findings that may show them."""


def _points_shown(judged: Sequence[Judged]) -> Iterator[str]:
    """How many points are shown, by verdict and kind, and how many would be by chance."""
    yield "| points | red: shown | red: shown by a red finding | yellow: shown |\n|---|---|---|---|"
    kinds = sorted({point.kind for one in judged for point in one.revision.points})
    for kind in (*kinds, ""):
        cells = []
        for verdict, colours in _WAYS:
            shown = [
                one.showing(point, *colours) is not None
                for one, point in _points(judged, verdict)
                if kind in ("", point.kind)
            ]
            rate = "" if kind or not shown else f" ({share(sum(shown), len(shown))})"
            cells.append(f"{sum(shown)} of {len(shown)}{rate}" if shown else "–")
        yield f"| {kind or 'all'} | {' | '.join(cells)} |"
    chances = (
        [one.chance(point, *colours) for one, point in _points(judged, verdict)]
        for verdict, colours in _WAYS
    )
    cells = [f"{sum(each):.1f} of {len(each)}" if each else "–" for each in chances]
    yield f"| all, at random lines of the same files | {' | '.join(cells)} |"


def _points(judged: Sequence[Judged], verdict: str) -> Iterator[tuple[Judged, Point]]:
    for one in judged:
        yield from ((one, point) for point in one.revision.points if point.verdict == verdict)


def share(part: int, whole: int) -> str:
    """A part as a share of at least one, with its 95 % interval (Wilson)."""
    interval = wilson_interval(part, whole)
    assert interval
    return f"{part / whole:.0%}, {interval.low:.0%}–{interval.high:.0%}"


def point_lines(judged: Sequence[Judged]) -> Iterator[str]:
    """A line for each point: whether it is shown, and by which finding."""
    for one in judged:
        for point in one.revision.points:
            places = " → ".join(f"{place.file}:{place.line}" if place else "-" for place in (point.before, point.after))  # fmt: skip
            finding = one.showing(point, *COLOURS[:2])
            by = f" [{finding.rule} {finding.severity}: {finding.message}]" if finding else ""
            yield f"{'shown ' if finding else 'missed'} {point.verdict:<6} {point.kind:<10} {one.revision.name} {places}: {point.what}{by}"


def main(words: Sequence[str] | None = None) -> int:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument(
        "--repos", type=Path, metavar="DIR", help="bare repositories OWNER+NAME/repo"
    )
    parser.add_argument("--splits", type=Path, metavar="DIR", help="pairs NAME/before, NAME/after")
    parser.add_argument("--policy", default=EDITED, choices=policies())
    parser.add_argument("--points", action="store_true", help="list each point")
    parser.add_argument("--table", type=Path, default=TABLE, metavar="FILE")
    options = parser.parse_args(words)
    judged = []
    try:
        revisions = read_table(options.table)
        for revision in revisions:
            try:
                texts = texts_of(revision, options.repos, options.splits)
            except BundleError as error:
                print(f"{revision.name}: left out: {error.message}", file=sys.stderr)
                continue
            if texts:
                judged.append(judge(revision, texts, options.policy))
        if not judged:
            raise UsageError("no change of the table was found; name --repos DIR, --splits DIR")
        print("\n".join([*table(judged), "", *summary(judged, len(revisions))]))
    except SkilljurorError as error:
        print(f"error: {error.message}", file=sys.stderr)
        return error.exit_code
    if options.points:
        print("\n".join(["", *point_lines(judged)]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
