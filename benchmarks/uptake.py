"""The tracing judge against the uptake labels, and against text that nobody can have used.

    python -m benchmarks.uptake [--labels FILE] [--foreign N] [--corpus DIR] [--verbose]

A label says yes, no or unknown of one access to a resource, as two careful readings of the raw
log found it; disputed labels are left out. `--foreign N` replaces the content of every read and
activation by texts of other Skills, N times over with other texts: every yes is then a false one.
`--corpus DIR` counts the verdicts on all logs below a folder, and the processor time of judging.
"""

import argparse
import json
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from skilljuror.base.errors import TrajectoryError
from skilljuror.base.results import UptakeCategory, Verdict
from skilljuror.base.trajectory import ResourceEvent, Trajectory
from skilljuror.events.attribute import Attribution, attribute
from skilljuror.judge.shown import ShownText
from skilljuror.judge.tracing import TracingJudge
from skilljuror.logs.discovery import discover
from skilljuror.logs.read import read
from skilljuror.measures.agreement import agreement

SHARED = Path(__file__).parent.parent.parent / "shared"
LABELS = SHARED / "labels" / "uptake" / "events.jsonl"
TEXTS = SHARED / "corpus" / "skill-bundles"
LABELLED = ("yes", "no", "unknown")
JUDGED = ("yes", "no", "open", "unknown")
"""An unknown whose content was shown is *open*."""
OPEN = frozenset(one for one in UptakeCategory if one.open)
SHOWING = frozenset({"read", "activate"})


@dataclass(frozen=True)
class Compared:
    """One label with what the judge said."""

    row: dict[str, Any]
    """The label."""
    verdict: Verdict | None
    """The verdict; None where attribution found no such event."""


def rows_by_run(labels: Path = LABELS) -> dict[str, list[dict[str, Any]]]:
    """Path of a run, relative to the folder above the labels -> the labels both readings share."""
    by_run = defaultdict(list)
    places = _places_in_documents(labels.parents[1] / "events")
    for line in labels.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        place = row["trajectory"], row.get("line")
        row["line"] = places.get(place, row.get("line"))
        if row["label"] != "disputed":
            by_run[row["trajectory"]].append(row)
    return dict(by_run)


def _places_in_documents(events: Path) -> dict[tuple[str, int], int]:
    """(run, labelled line) -> place, for runs whose log is one document."""
    documents = (json.loads(path.read_text(encoding="utf-8")) for path in events.glob("*.json"))
    return {
        (document["trajectory"], event["line"]): event["message_index"] + 1
        for document in documents
        for event in document["events"]
        if "message_index" in event
    }


@lru_cache(maxsize=32)
def run_of(path: Path) -> Trajectory:
    """The longest run of a log."""
    return max(_runs(path), key=lambda run: len(run.steps))


def _runs(path: Path) -> Iterator[Trajectory]:
    for found in discover([path]):
        if found.format:
            yield from read(found.source, found.format)


@lru_cache(maxsize=32)
def events_of(path: Path) -> Attribution:
    """What attribution finds in that run."""
    return attribute(run_of(path), None)


def judged(run: Trajectory, found: Attribution) -> list[Verdict]:
    """The verdicts on a run."""
    return list(TracingJudge().judge("trial", run, found.events, found.manifest))


def compare(labels: Path = LABELS) -> list[Compared]:
    """Every label with its verdict."""
    pairs = []
    for path, rows in rows_by_run(labels).items():
        log = labels.parents[2] / path
        found = events_of(log)
        verdicts = {verdict.event: verdict for verdict in judged(run_of(log), found)}
        pairs += [Compared(row, _verdict_on(row, found.events, verdicts)) for row in rows]
    return pairs


def _verdict_on(
    row: dict[str, Any], events: Iterable[ResourceEvent], verdicts: dict[str, Verdict]
) -> Verdict | None:
    for event in events:
        same = event.resource == row["resource"] and event.kind == row["kind"]
        tail = event.skill.rpartition(":")[2] == row["skill"].rpartition(":")[2]
        by_id = event.call_id == row["call_id"] if row["call_id"] else event.line == row["line"]
        if same and tail and by_id:
            return verdicts.get(event.event)
    return None


def foreign_verdicts(run: Trajectory, events: Sequence[ResourceEvent], text: str) -> list[Verdict]:
    """The verdicts on every read and activation when all of them showed a foreign text."""
    steps, messages, changed = list(run.steps), list(run.messages), set()
    for (step, call), here in ShownText(run, tuple(events), None).events_at.items():
        if any(events[i].kind not in SHOWING for i in here):
            continue
        if step < 0:
            messages[call] = replace(messages[call], text=text)
        elif (result := steps[step].calls[call].result) is not None:
            calls = list(steps[step].calls)
            calls[call] = replace(calls[call], result=replace(result, text=text, clean=None))
            steps[step] = replace(steps[step], calls=tuple(calls))
        changed |= {events[i].event for i in here}
    planted = replace(run, steps=tuple(steps), messages=tuple(messages))
    made = TracingJudge().judge("trial", planted, tuple(events), None)
    return [verdict for verdict in made if verdict.event in changed]


def foreign(
    paths: Iterable[Path], times: int, texts: Path = TEXTS
) -> Iterator[tuple[Path, Verdict]]:
    """Verdicts on foreign texts, each run with `times` of them, none with one of its own."""
    stock = [text.read_text(encoding="utf-8") for text in sorted(texts.rglob("SKILL.md"))]
    for i, path in enumerate(paths):
        run, events = run_of(path), events_of(path).events
        shown = "\n".join(_shown(run))
        strange = [text for text in stock if text.strip()[-200:] not in shown]
        for turn in range(times):
            text = strange[(i + turn * len(stock) // times) % len(strange)]
            yield from ((path, one) for one in foreign_verdicts(run, events, text))


def _shown(run: Trajectory) -> Iterator[str]:
    yield from (message.text for message in run.messages)
    results = (call.result for step in run.steps for call in step.calls)
    yield from (result.text for result in results if result is not None)


def _print_labels(pairs: Sequence[Compared], verbose: bool) -> None:
    found = [(str(one.row["label"]), str(one.verdict.label)) for one in pairs if one.verdict]
    if not found:
        print("no label has an event")
        return
    made = agreement(*zip(*found, strict=True))
    agreeing = sum(label == said for label, said in found)
    kappa = "none" if made.kappa is None else f"{made.kappa:.2f}"
    print(f"labels {len(pairs)}  events {len(found)}  agree {agreeing}  kappa {kappa}")
    counts = Counter((str(one.row["label"]), said_of(one.verdict)) for one in pairs if one.verdict)
    print(f"{'label':<10}" + "".join(f"{said:>11}" for said in JUDGED) + "   (judged)")
    for label in LABELLED:
        print(f"{label:<10}" + "".join(f"{counts[label, said]:>11}" for said in JUDGED))
    right, yes = counts["yes", "yes"], sum(counts[label, "yes"] for label in LABELLED)
    whole = sum(label == "yes" for label, _ in found)
    print(f"precision of yes {right}/{yes}, recall {right}/{whole}")
    _print_reasons(pairs)
    low, high = rate_ends(one.verdict for one in pairs if one.verdict)
    labels = Counter(label for label, _ in found)
    read = labels["yes"] / max(1, labels["yes"] + labels["no"])
    print(f"ERU rate of the labels {read:.1%}, of the judge between {low:.1%} and {high:.1%}")
    for one in pairs if verbose else ():
        _print_pair(one)


def said_of(verdict: Verdict) -> str:
    """The label of a verdict, *open* apart from the other unknowns."""
    return "open" if verdict.category in OPEN else verdict.label


def _print_reasons(pairs: Sequence[Compared]) -> None:
    """How the judge's reasons fare, one row each."""
    reasons: dict[str, Counter[bool]] = defaultdict(Counter)
    for one in pairs:
        if one.verdict:
            reason = f"{one.verdict.label}/{one.verdict.category}"
            reasons[reason][one.row["label"] == one.verdict.label] += 1
    for reason, counts in sorted(reasons.items()):
        print(f"  {reason:<28} right {counts[True]:>3}  wrong {counts[False]:>3}")


def _print_pair(one: Compared) -> None:
    row, verdict = one.row, one.verdict
    place = f"{Path(row['trajectory']).parent.name} line {row['line']}"
    said = f"{verdict.label}/{verdict.category}" if verdict else "no such event"
    mark = "  " if verdict and verdict.label == row["label"] else "! "
    print(f"{mark}{place}: {row['kind']} {row['skill']} {row['resource']}: {row['label']}, {said}")
    if verdict and verdict.note:
        print(f"     {verdict.note[:160]}")
    for reading in row["labels"] if mark == "! " else ():
        print(f"     reading: line {reading['consuming_line']}: {reading['note']}")


def rate_ends(verdicts: Iterable[Verdict]) -> tuple[float, float]:
    """The ERU rate as if no open use, and as if all of them had been taken up."""
    said = Counter(map(said_of, verdicts))
    whole = max(1, said["yes"] + said["no"] + said["open"])
    return said["yes"] / whole, (said["yes"] + said["open"]) / whole


def _print_foreign(times: int, labels: Path, verbose: bool) -> None:
    paths = [labels.parents[2] / path for path in rows_by_run(labels)]
    found = list(foreign(paths, times))
    counts = Counter(said_of(verdict) for _, verdict in found)
    print(f"foreign texts: {dict(sorted(counts.items()))}, false yes {counts['yes']}/{len(found)}")
    for path, verdict in found if verbose else ():
        if verdict.label == "yes":
            print(f"! {path.parent.name} {verdict.note}: {verdict.action_quote!r}")


def _print_corpus(folder: Path) -> None:
    """Verdicts on every log below a folder, and what judging alone takes."""
    counts: Counter[str] = Counter()
    totals: Counter[str] = Counter()
    seconds, runs = 0.0, 0
    for found in discover([folder]):
        try:
            read_here = list(read(found.source, found.format)) if found.format else []
        except TrajectoryError:
            continue
        for run in read_here:
            events = attribute(run, None)
            start = time.process_time()
            made = judged(run, events)
            seconds += time.process_time() - start
            counts.update(f"{one.label}/{one.category}" for one in made)
            totals.update(map(said_of, made))
            runs += 1
    told = {said: totals[said] for said in JUDGED}
    print(f"corpus: {runs} runs, {told}, judged in {seconds:.2f} s of processor time")
    for reason, count in sorted(counts.items()):
        print(f"  {reason:<28} {count:>4}")


def main(argv: Sequence[str] | None = None) -> int:
    """Print agreement; 0 also where the labels are absent, which is said."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--labels", type=Path, default=LABELS)
    parser.add_argument("--foreign", type=int, default=0, metavar="N")
    parser.add_argument("--corpus", type=Path, metavar="DIR")
    parser.add_argument("--verbose", action="store_true")
    options = parser.parse_args(argv)
    if options.labels.is_file():
        _print_labels(compare(options.labels), options.verbose)
        if options.foreign:
            _print_foreign(options.foreign, options.labels, options.verbose)
    else:
        print(f"skipped: no uptake labels at {options.labels.name!r}")
    if options.corpus:
        _print_corpus(options.corpus)
    return 0


if __name__ == "__main__":
    sys.exit(main())
