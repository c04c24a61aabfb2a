"""Attribution against the labels: precision and recall of resource events.

    python -m benchmarks.labels [--labels DIR] [--format NAME] [--verbose]

A label folder holds one JSON file per trajectory: its path, its format, and the events that
careful reading found. An event matches a label when file, agent, place (call id, else line or
one of its alternatives; in a document the number of the message), skill (the part after the last colon), resource and kind agree.
Optional labels are no misses when they are not found and no false positives when they are.
"""

import argparse
import json
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from skilljuror.base.errors import TrajectoryError
from skilljuror.base.trajectory import ResourceEvent, Trajectory
from skilljuror.events.attribute import attribute
from skilljuror.logs import FORMATS
from skilljuror.logs.discovery import discover
from skilljuror.logs.read import read

ROOT = Path(__file__).parent.parent
LABELS = ROOT.parent / "shared" / "labels" / "events"
TARGET = 0.97
"""Precision and recall asked for, overall and as the mean over files."""
LINE_TOLERANCE = 1


@dataclass
class Case:
    """One labelled trajectory."""

    name: str
    path: Path
    format: str
    events: list[dict[str, Any]]


@dataclass
class Score:
    """What came out for one trajectory."""

    case: Case
    error: str | None = None
    matched: list[tuple[dict[str, Any], ResourceEvent]] = field(default_factory=list)
    optional: list[tuple[dict[str, Any], ResourceEvent]] = field(default_factory=list)
    missed: list[dict[str, Any]] = field(default_factory=list)
    extra: list[ResourceEvent] = field(default_factory=list)

    @property
    def precision(self) -> float:
        """Share of the reported events that are labelled; 1 when nothing is reported."""
        return _share(len(self.matched), len(self.matched) + len(self.extra))

    @property
    def recall(self) -> float:
        """Share of the labelled events that are reported; 1 when nothing is labelled."""
        return _share(len(self.matched), len(self.matched) + len(self.missed))


def _share(part: int, whole: int) -> float:
    return part / whole if whole else 1.0


def cases(labels: Path, format: str | None = None) -> list[Case]:
    """The labelled trajectories of a folder, in the order of their names."""
    found = []
    for path in sorted(labels.glob("*.json")):
        document = json.loads(path.read_text(encoding="utf-8"))
        if format is None or document["format"] == format:
            source = labels.parent.parent / document["trajectory"]
            found.append(Case(path.stem, source, document["format"], document["events"]))
    return found


def score(case: Case) -> Score:
    """Attribute a trajectory and compare."""
    try:
        events = [
            event
            for trajectory in trajectories(case)
            for event in attribute(trajectory, None).events
        ]
    except TrajectoryError as error:
        missed = [one for one in case.events if not one.get("optional")]
        return Score(case, error=error.message, missed=missed)
    return compare(case, events)


def trajectories(case: Case) -> list[Trajectory]:
    """The runs of a labelled log."""
    for found in discover([case.path]):
        if found.source.path == case.path and found.format:
            return list(read(found.source, found.format))
    raise TrajectoryError(f"no format claims {str(case.path)!r}", file=str(case.path))


def compare(case: Case, events: Sequence[ResourceEvent]) -> Score:
    """Pair labels with events one to one: required labels first."""
    result = Score(case)
    left = list(events)
    for label in sorted(case.events, key=lambda one: bool(one.get("optional"))):
        event = next((one for one in left if _fits(label, one)), None)
        if event is not None:
            left.remove(event)
            (result.optional if label.get("optional") else result.matched).append((label, event))
        elif not label.get("optional"):
            result.missed.append(label)
    result.extra = [one for one in left if one.kind != "mention"]
    return result


def _fits(label: dict[str, Any], event: ResourceEvent) -> bool:
    return (
        _same_file(label.get("file"), event.file)
        and label["agent"] == event.agent
        and _same_place(label, event)
        and label["skill"].rpartition(":")[2] == event.skill.rpartition(":")[2]
        and label["resource"] == event.resource
        and label["kind"] == event.kind
    )


def _same_file(labelled: str | None, found: str | None) -> bool:
    if labelled is None or found is None:
        return labelled is found
    return Path(labelled).name == Path(found).name


def _same_place(label: dict[str, Any], event: ResourceEvent) -> bool:
    if label.get("call_id") and event.call_id:
        return bool(label["call_id"] == event.call_id)
    if "message_index" in label:  # the log is one document
        return bool(event.line == label["message_index"] + 1)
    return event.line in {label["line"], *label.get("alt_lines", ())}


def _lines_agree(label: dict[str, Any], event: ResourceEvent) -> bool | None:
    """Whether first and last line agree within the tolerance; None where the label has none."""
    if label.get("lines") is None:
        return None
    if event.lines is None:
        return False
    first, last = event.lines[0][0], event.lines[-1][1]
    labelled: tuple[int, int] = label["lines"]
    gaps = abs(first - labelled[0]), abs(last - labelled[1])
    return max(gaps) <= LINE_TOLERANCE


def _agreement(pairs: Iterable[tuple[dict[str, Any], ResourceEvent]]) -> dict[str, tuple[int, int]]:
    """field -> (agreeing, compared) over matched pairs."""
    counts: dict[str, list[int]] = {
        name: [0, 0] for name in ("ok", "content_exposed", "lines", "via", "step")
    }
    for label, event in pairs:
        exposed = {label["content_exposed"], *label.get("exposed_alt", ())}
        checks = {
            "ok": label["ok"] is event.ok or bool(label.get("ok_arguable")),
            "content_exposed": event.content_exposed in exposed,
            "lines": _lines_agree(label, event),
            "via": label["via"] == event.via,
            "step": None if label.get("step") is None else label["step"] == event.step,
        }
        for name, agrees in checks.items():
            if agrees is not None:
                counts[name][0] += agrees
                counts[name][1] += 1
    return {name: (agreeing, compared) for name, (agreeing, compared) in counts.items()}


@dataclass(frozen=True)
class Totals:
    """Precision and recall of several trajectories."""

    precision: float
    recall: float
    macro_precision: float
    macro_recall: float


def totals(scores: Sequence[Score]) -> Totals:
    """Over all events, and as the mean over trajectories."""
    hits = sum(len(one.matched) for one in scores)
    extra = sum(len(one.extra) for one in scores)
    missed = sum(len(one.missed) for one in scores)
    count = max(1, len(scores))
    return Totals(
        _share(hits, hits + extra),
        _share(hits, hits + missed),
        sum(one.precision for one in scores) / count,
        sum(one.recall for one in scores) / count,
    )


def _print_totals(title: str, scores: Sequence[Score]) -> None:
    result = totals(scores)
    print(
        f"{title:<18} files {len(scores):>3}  precision {result.precision:.3f}  recall {result.recall:.3f}"
        f"  macro {result.macro_precision:.3f} / {result.macro_recall:.3f}"
    )


def _print_kinds(scores: Sequence[Score]) -> None:
    rows: dict[str, Counter[str]] = defaultdict(Counter)
    for one in scores:
        for label, _ in one.matched:
            rows[_group(label["kind"], label["resource"])]["matched"] += 1
        for label in one.missed:
            rows[_group(label["kind"], label["resource"])]["missed"] += 1
        for event in one.extra:
            rows[_group(event.kind, event.resource)]["extra"] += 1
    for name in sorted(rows):
        counts = rows[name]
        print(
            f"  {name:<22} matched {counts['matched']:>4}  missed {counts['missed']:>3}  extra {counts['extra']:>3}"
        )


def _group(kind: str, resource: str) -> str:
    return f"{kind} SKILL.md" if resource == "SKILL.md" else kind


def _untold(name: str, pairs: Sequence[tuple[dict[str, Any], ResourceEvent]]) -> str:
    """Lines that the log does not tell: a label knows the bundle, an attribution without it not."""
    if name != "lines":
        return ""
    count = sum(label.get("lines") is not None and event.lines is None for label, event in pairs)
    return f", not told by the log {count}"


def _print_confusion(scores: Sequence[Score]) -> None:
    """Labelled kind against found kind, where place and resource agree and the kind does not."""
    pairs: Counter[tuple[str, str]] = Counter()
    for one in scores:
        for label in one.missed:
            found = (event for event in one.extra if _fits({**label, "kind": event.kind}, event))
            pairs[label["kind"], next((event.kind for event in found), "nothing")] += 1
    for (labelled, found_kind), count in sorted(pairs.items()):
        print(f"  labelled {labelled}, found {found_kind}: {count}")


def _print_details(scores: Sequence[Score]) -> None:
    for one in scores:
        if one.error:
            print(f"{one.case.name}: {one.error}")
        for label in one.missed:
            place = label.get("call_id") or label["line"]
            print(
                f"{one.case.name}: MISSED {label['kind']} {label['skill']} {label['resource']} at {place}"
            )
        for event in one.extra:
            print(
                f"{one.case.name}: EXTRA {event.kind} {event.skill} {event.resource} at line {event.line}"
                f" {event.via} {event.witness} {event.note!r} {event.quote[:80]!r}"
            )
        _print_differences(one)


def _print_differences(one: Score) -> None:
    for label, event in one.matched:
        seen = _agreement([(label, event)])
        wrong = [name for name, (agreeing, compared) in seen.items() if agreeing < compared]
        for name in wrong:
            print(
                f"{one.case.name}: {name.upper()} {event.kind} {event.resource} at line {event.line}:"
                f" labelled {label.get(name)!r}, found {getattr(event, name)!r} ({event.note})"
            )


def report(scores: Sequence[Score], *, verbose: bool) -> None:
    """Print the tables."""
    _print_totals("all", scores)
    for format in sorted({one.case.format for one in scores}):
        _print_totals(format, [one for one in scores if one.case.format == format])
    _print_kinds(scores)
    _print_confusion(scores)
    pairs = [pair for one in scores for pair in one.matched]
    for name, (agreeing, compared) in _agreement(pairs).items():
        print(f"  {name:<18} agrees in {agreeing} of {compared}{_untold(name, pairs)}")
    negatives = [one for one in scores if not one.case.events]
    false_reads = sum(len(one.extra) for one in negatives)
    print(f"  negatives          {len(negatives)} files, {false_reads} false events")
    if verbose:
        _print_details(scores)


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line."""
    options = argparse.ArgumentParser(prog="python -m benchmarks.labels", description=__doc__)
    options.add_argument("--labels", type=Path, default=LABELS, help="folder of label files")
    options.add_argument("--format", help="only trajectories of this format")
    options.add_argument("--verbose", action="store_true", help="list every difference")
    asked = options.parse_args(arguments)
    found = cases(asked.labels, asked.format)
    if not found:
        print(f"no labels in {asked.labels}", file=sys.stderr)
        return 2
    unread = [one for one in found if one.format not in FORMATS]
    scores = [score(one) for one in found if one.format in FORMATS]
    report(scores, verbose=asked.verbose)
    if unread:
        print(f"  not read           {len(unread)} files of formats without a parser")
    result = totals(scores)
    return (
        0
        if min(result.precision, result.recall, result.macro_precision, result.macro_recall)
        >= TARGET
        else 1
    )


if __name__ == "__main__":
    raise SystemExit(main())
