"""The tracing judge against the uptake labels, where the corpus is at hand.

The labels were made by a language model reading the raw logs, twice; most events of real
logs are uptake, so the floor is on what a yes is worth, on beyond-chance agreement, and
on content planted from elsewhere.
"""

import json
from collections import Counter, defaultdict
from functools import lru_cache
from pathlib import Path

import pytest
from msgspec.structs import replace

from skilljuror.attribution.attribute import attribute
from skilljuror.judge.shown import ShownText
from skilljuror.judge.tracing import TracingJudge
from skilljuror.models.trajectory import Trajectory
from skilljuror.parsers.discover import discover
from skilljuror.parsers.read import read
from skilljuror.stats.agreement import agreement

SHARED = Path(__file__).parents[3] / "shared"
LABELS = SHARED / "labels" / "uptake" / "events.jsonl"
TEXTS = SHARED / "corpus" / "skill-bundles"

pytestmark = pytest.mark.skipif(
    not LABELS.is_file(), reason="the labelled corpus does not lie beside the checkout"
)


@lru_cache(maxsize=1)
def labelled():
    """Run -> its labels that both readings share."""
    by_run = defaultdict(list)
    for line in LABELS.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        if row["label"] != "disputed":
            by_run[row["trajectory"]].append(row)
    return dict(by_run)


@lru_cache(maxsize=32)
def run_of(path: str) -> Trajectory:
    sources = [found for found in discover([SHARED / path]) if found.format]
    runs = [run for found in sources for run in read(found.source, found.format or "")]
    return max(runs, key=lambda run: len(run.steps))


@lru_cache(maxsize=32)
def events_of(path: str):
    return attribute(run_of(path), None)


def label_of(verdicts, events, row):
    """The verdict on the event that a label is about; None where there is no such event."""
    for event in events:
        same = event.resource == row["resource"] and event.kind == row["kind"]
        tail = event.skill.rpartition(":")[2] == row["skill"].rpartition(":")[2]
        by_id = event.call_id == row["call_id"] if row["call_id"] else event.line == row["line"]
        if same and tail and by_id:
            return verdicts[event.event]
    return None


@lru_cache(maxsize=1)
def compared():
    """(label of the readings, label of the judge) of every event found."""
    pairs = []
    for path, rows in labelled().items():
        found = events_of(path)
        made = TracingJudge().judge("t", run_of(path), found.events, found.manifest)
        verdicts = {verdict.event: verdict for verdict in made}
        verdict_of = [(row["label"], label_of(verdicts, found.events, row)) for row in rows]
        pairs += [(label, verdict.label) for label, verdict in verdict_of if verdict]
    return pairs


def test_most_labelled_events_are_found():
    assert len(compared()) >= 0.9 * sum(map(len, labelled().values()))


def test_a_yes_is_worth_its_name():
    yes = [label for label, judged in compared() if judged == "yes"]
    assert yes.count("yes") / len(yes) >= 0.9


def test_agreement_is_beyond_chance():
    labels, judged = zip(*compared(), strict=True)
    made = agreement(labels, judged)
    assert made.observed is not None
    assert made.kappa is not None
    assert made.observed >= 0.65
    assert made.kappa >= 0.25


def test_no_and_unknown_rows_hardly_ever_become_yes():
    others = [judged for label, judged in compared() if label != "yes"]
    assert others.count("yes") <= 1 < len(others)


def planted(path, text):
    """The run with the content of every read and activation replaced by a foreign text."""
    run, events = run_of(path), events_of(path).events
    steps, messages, changed = list(run.steps), list(run.messages), set()
    for (step, call), here in ShownText(run, events, None).places.items():
        if any(events[i].kind not in {"read", "activate"} for i in here):
            continue
        if step < 0:
            messages[call] = replace(messages[call], text=text)
        elif (result := steps[step].calls[call].result) is not None:
            calls = list(steps[step].calls)
            calls[call] = replace(calls[call], result=replace(result, text=text, clean=None))
            steps[step] = replace(steps[step], calls=tuple(calls))
        changed |= {events[i].event for i in here}
    return replace(run, steps=tuple(steps), messages=tuple(messages)), events, changed


def test_foreign_content_is_hardly_ever_taken_up():
    texts = [path.read_text(encoding="utf-8") for path in sorted(TEXTS.rglob("SKILL.md"))]
    found: Counter[str] = Counter()
    for i, path in enumerate(labelled()):
        run, events, changed = planted(path, texts[i % len(texts)])
        verdicts = TracingJudge().judge("t", run, events, None)
        found.update(verdict.label for verdict in verdicts if verdict.event in changed)
    assert found.total() >= 20
    assert found["yes"] / found.total() <= 0.05
