"""The questions for reviewers: flagged findings, rubric items, sampled events, sections, items of the work, failed trials.

Each kind is one query for its subjects; what a reviewer sees, may answer, and where the answer is stored is one record.
"""

import logging
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache, cached_property, lru_cache, partial
from pathlib import Path
from typing import Any

import yaml
from msgspec import Struct

from skilljuror.audit.gates.findings import cut_text
from skilljuror.base.build import BuildRecord, Finding, GateResult
from skilljuror.base.errors import BundleError, SkilljurorError, TransformError
from skilljuror.base.files import StudyFolder, data_dir, read_record
from skilljuror.base.item_rows import ItemState as WorkItem
from skilljuror.base.item_rows import item_states
from skilljuror.base.review import (
    ADJUDICATIONS,
    Decision,
    ItemState,
    ReviewItem,
    ReviewText,
    seen_in,
)
from skilljuror.base.review_rows import CODED, current_decisions, record_digest, rows_of
from skilljuror.base.skill import Bundle
from skilljuror.harness.artifacts import WORK
from skilljuror.judge.by_model import RunStep, excerpt_of, load_definition, run_step
from skilljuror.judge.study import label_sample, runs_to_judge
from skilljuror.layouts.build.folder import RECORD, VARIANTS, saved_source
from skilljuror.layouts.build.manifests import units_of_build
from skilljuror.layouts.build.reviews import flagged, reviewed
from skilljuror.layouts.build.scopes import ITEM as SECTION
from skilljuror.layouts.build.scopes import flat_page, is_model, scope_file
from skilljuror.layouts.conditions import open_sections
from skilljuror.report.trajectory import look_up
from skilljuror.review.waivers import store_for
from skilljuror.skill.bundles import load_bundle
from skilljuror.store.questions import run
from skilljuror.study.rubric import texts_in

LOG = logging.getLogger(__name__)
PREFIX = "uptake:"
LABELS = ("yes", "no", "unknown")
ASKED = (
    "Is the variant acceptable here? Choose whether this is already in the source, comes from packaging,"
    " or is a repair that preserves the knowledge; otherwise reject it."
)
ASKED_OF_SECTION = (
    "Does every task need this section (main), or only some tasks (branch)? In the layout pd the main path"
    " stays in the root, and a branch becomes a file that is opened on demand."
)
FAILED = ". The gate failed the variant: your answer is recorded, but only a waiver lets it pass."
SUSPICION = {
    "high": 0.9, "medium": 0.7, "low": 0.5,
    "no": 0.95, "unknown": 0.6, "disagreement": 0.8,
    "disputed": 0.8, "unjudged": 0.5,
    "judged section": 0.6, "open section": 0.4,
    "event": 0.3,
    "failed trial": 0.001,
}  # fmt: skip
"""Review priority: of a finding by severity (halved if no decision can change the verdict); of a rubric item by answer
and where code and model differ; of an item that models dispute or nobody judged; of a section; of events, equal, so
that a partial review in drawing order is still a sample and reveals nothing of the judge; of a failed trial, after all
others, up to twice as high where the control solves the task."""
AROUND = 12
"""Lines shown before and after a mark."""
HEAD = 40
"""Lines shown of a file without marks."""
MAX_FILES = 8
"""Files of a trial's work that are shown."""
SHOWN = 20_000
"""Maximum characters of each text of a log."""
_ANY_VERDICT = "SELECT 1 FROM verdicts LIMIT 1"
_EVENTS = """
SELECT
    e.event, coalesce(t.trial, t.trajectory) AS run, e.skill, e.resource, e.kind, e.step, e.agent,
    event_digest(e.event, e.file, e.line, e.agent, e.step, e.skill, e.resource, e.kind) AS seen,
    (
        SELECT string_agg(v.judge || ': ' || v.label || ' (' || v.category || ')', '; ' ORDER BY v.judge)
        FROM verdicts AS v WHERE v.event = e.event
    ) AS machine
FROM events AS e
JOIN trajectories AS t ON t.trajectory = e.trajectory
WHERE e.counted AND list_contains(CAST($events AS VARCHAR[]), e.event)
"""
_FAILED = """
SELECT
    r.run, r.status, r.reward, r.exception,
    coalesce(avg(if(c.reward = 1, 1, 0)) FILTER (c.run IS NOT NULL), 0) AS control_rate,
    (
        SELECT string_agg(k.outcome || ' ' || k.name || coalesce(': ' || k.said, ''), chr(10) ORDER BY k.source, k.name)
        FROM check_results AS k WHERE k.trial = r.run AND k.outcome IN ('failed', 'error')
    ) AS checks,
    (
        SELECT string_agg(DISTINCT k.label, ', ' ORDER BY k.label) FROM check_results AS k WHERE k.trial = r.run
    ) AS labels
FROM study AS s
JOIN arm_runs AS r ON r.condition = s.treatment AND r.usable AND r.verified AND r.reward IS DISTINCT FROM 1
JOIN conditions AS a ON a.condition = s.treatment AND a.variant IS NOT NULL
LEFT JOIN arm_runs AS c ON c.condition = s.control AND c.task = r.task AND c.usable
GROUP BY r.run, r.status, r.reward, r.exception
ORDER BY control_rate DESC, r.run
"""


class Question(Struct, frozen=True):
    """A question for a reviewer."""

    item: ReviewItem
    """Its subject, evidence and choices, including the machine's verdict."""
    seen: str
    """Digest of its subject: an answer about another digest is stale."""
    stores: dict[str, Path]
    """Id of the item and of each repeat -> file for its answers."""
    evidence: Callable[[bool], tuple[ReviewText, ...]] | None = None
    """Reads the texts from a log, for a blind reviewer or another; None where the item has them."""


def excerpt(heading: str, text: str, places: Iterable[tuple[int, int]]) -> ReviewText:
    """Cut a text around inclusive 1-based line ranges and mark them; without ranges, cut its beginning.
    The line numbers are added to the heading."""
    lines = text.split("\n")
    ranges = [(max(1, first), min(last, len(lines))) for first, last in places]
    ranges = [(first, last) for first, last in ranges if first <= last]
    begin = max(1, min((first for first, _ in ranges), default=1) - AROUND)
    end = min(len(lines), max((last for _, last in ranges), default=HEAD - AROUND) + AROUND)
    starts = {begin: 0}
    for number in range(begin, end + 1):
        starts[number + 1] = starts[number] + len(lines[number - 1]) + 1
    marks = tuple((starts[first], starts[last + 1] - 1) for first, last in sorted(set(ranges)))
    return ReviewText(f"{heading}:{begin}-{end}", "\n".join(lines[begin - 1 : end]), marks)


# Findings and rubric items of builds: equal ones of several builds share one question.


class BuildTexts:
    """The texts of a build, read on first use."""

    def __init__(self, build: Path) -> None:
        self._build = build
        self._variants: dict[str, Bundle | None] = {}

    def bundle(self, variant: str) -> Bundle | None:
        """Return a variant; None if it cannot be read."""
        if variant not in self._variants:
            try:
                folder = self._build / VARIANTS / variant
                self._variants[variant] = load_bundle(folder, inspect=False)
            except BundleError:
                self._variants[variant] = None
        return self._variants[variant]

    @cached_property
    def source(self) -> Bundle | None:
        """The saved source; None if missing."""
        try:
            return saved_source(self._build, read_record(BuildRecord, self._build / RECORD))
        except BundleError:
            return None

    def both_sides(self, result: GateResult, finding: Finding) -> tuple[ReviewText, ...]:
        """Return the texts of a finding in the source and in the variant: around the quoted unit, of equal units
        the one at the finding's place."""
        missing = finding.variant_text is None and finding.source_text is not None
        variant = self.bundle(result.variant)
        pairs = [
            (row.unit, None if missing else row.places.get(result.variant))
            for row in units_of_build(self._build)
            if cut_text(row.unit.text) == finding.source_text
        ]
        at = (finding.file, finding.line)
        sought = ((unit if missing else place, unit, place) for unit, place in pairs)
        same = (
            (unit, place)
            for where, unit, place in sought
            if where and (where.file, where.start) == at
        )
        pair = next(same, pairs[0] if pairs else (None, None))
        sources, variants = ({o.file: (o.start, o.end)} if o else {} for o in pair)
        if finding.line is not None:
            in_variant = variant and finding.file in variant.files and not missing
            holder = variants if in_variant else sources
            holder.setdefault(finding.file, (finding.line, finding.line))
        sides = (
            ("source", self.source, sources, finding.source_text),
            (result.variant, variant, variants, finding.variant_text),
        )
        return tuple(text for side in sides for text in _side(*side))


def _side(
    name: str, bundle: Bundle | None, places: dict[str, tuple[int, int]], quoted: str | None
) -> list[ReviewText]:
    """Excerpts around the places of one side, else the gate's quote."""
    blobs = (
        (file, bundle.files.get(file) if bundle else None, lines) for file, lines in places.items()
    )
    texts = [
        excerpt(f"{name} · {file}", blob.text, [lines])
        for file, blob, lines in blobs
        if blob is not None and blob.text is not None
    ]
    if quoted is not None and not texts:
        texts.append(ReviewText(f"{name} · quoted by the gate", quoted, ((0, len(quoted)),)))
    return texts


def finding_questions(place: Path, builds: list[Path]) -> list[Question]:
    """Return one question per flagged finding; equal findings of one source share one."""
    alike: dict[tuple[str, str, str], list[tuple[Path, GateResult, Finding]]] = defaultdict(list)
    for build in builds:
        source = read_record(BuildRecord, build / RECORD).source.tree_digest
        for result, finding in flagged(build):
            alike[source, seen_in(finding), result.verdict].append((build, result, finding))
    texts = {build: BuildTexts(build) for build in builds}
    questions = []
    for same in alike.values():
        build, result, finding = same[0]
        failed = result.verdict == "fail"
        line = f":{finding.line}" if finding.line else ""
        questions.append(_adjudication(
            "finding", [(where, each.variant, found.id) for where, each, found in same], place,
            title=f"{build.resolve().name}/{result.variant} · {finding.file}{line}",
            question=ASKED,
            suspicion=SUSPICION.get(finding.severity, 0.5) / (1 + failed),
            texts=texts[build].both_sides(result, finding),
            machine=f"{result.gate} {result.verdict}: {finding.rule} ({finding.severity}): {finding.message}"
            + FAILED * failed,
            seen=seen_in(finding),
        ))  # fmt: skip
    return questions


def rubric_questions(place: Path, builds: list[Path]) -> list[Question]:
    """Return one question per judged item without a yes; items about the same texts share one."""
    alike: dict[str, list[tuple[Path, ItemState]]] = defaultdict(list)
    for build in builds:
        for state in reviewed(build).items:
            if state.verdict is not None and state.answer != "yes":
                alike[state.verdict.seen].append((build, state))
    questions = []
    for seen, same in alike.items():
        build, state = same[0]
        verdict = state.verdict
        assert verdict is not None
        code = f"code: {state.code}; " if state.code else ""
        reason = f" ({verdict.reason})" if verdict.reason else ""
        questions.append(_adjudication(
            "rubric", [(where, each.variant, each.item.id) for where, each in same], place,
            title=f"{build.resolve().name}/{state.variant} · {state.item.id}",
            question=f"{state.item.question} {state.item.acceptance} {ASKED}",
            suspicion=SUSPICION["disagreement" if state.disagrees else state.answer or "unknown"],
            texts=tuple(_rubric_texts(BuildTexts(build), state)),
            machine=f"{code}{verdict.model}: {verdict.answer}{reason}: {verdict.evidence}",
            seen=seen,
        ))  # fmt: skip
    return questions


def _adjudication(
    kind: Any, subjects: Sequence[tuple[Path, str, str]], place: Path, *, seen: str, **fields: Any
) -> Question:
    """The question about (build, variant, id) of equal subjects."""
    stores = {
        f"{kind}:{build.resolve().name}/{variant}/{subject}": store_for(place, build)
        for build, variant, subject in subjects
    }
    first, *others = stores
    item = ReviewItem(
        id=first, kind=kind, answers=ADJUDICATIONS, repeats=tuple(others), **fields
    )  # fmt: skip
    return Question(item, seen, stores)


def _rubric_texts(texts: BuildTexts, state: ItemState) -> Iterator[ReviewText]:
    """Both sides: the quoted files around their quotes, else the roots."""
    sides = (
        ("source", "source", texts.source),
        ("candidate", state.variant, texts.bundle(state.variant)),
    )
    for side, name, bundle in sides:
        if bundle is None:
            continue
        places: dict[str, list[tuple[int, int]]] = {}
        for quote in state.verdict.quotes if state.verdict else ():
            if quote.side == side and quote.file in bundle.files:
                lines = quote.text.strip("\n").count("\n")
                places.setdefault(quote.file, []).append((quote.line, quote.line + lines))
        for file, ranges in (places or {skill.path: [] for skill in bundle.skills}).items():
            if text := bundle.files[file].text:
                yield excerpt(f"{name} · {file}", text, ranges)


# Sections of a Skill whose place no rule of the plan engine can tell.


def scope_questions(place: Path) -> list[Question]:
    """Return one question per open section of the Skill or folder of Skills at `place`; [] for a study, a build
    and a source that `pd` cannot be made from. Answers are stored beside the source."""
    roots = [*place.glob("SKILL.md"), *place.glob("*/SKILL.md")]
    if not roots or (place / RECORD).is_file():
        return []
    try:
        sections = open_sections(flat_page(load_bundle(place, inspect=False)))
    except (BundleError, TransformError):
        return []
    store = scope_file(place)
    rows = current_decisions(rows_of(Decision, store))
    models = {row.seen: row for row in rows if is_model(row.by)}
    questions = {}
    for section in sections:
        name, judged = f"{SECTION}{section.key}", models.get(section.key)
        item = ReviewItem(
            id=name,
            kind="scope",
            title=" · ".join([place.resolve().name, *section.above, section.title]),
            question=ASKED_OF_SECTION,
            answers=("main", "branch"),
            suspicion=SUSPICION["judged section" if judged else "open section"],
            texts=(ReviewText(f"source · {section.title}", section.text),),
            machine=f"{judged.answer} ({judged.by}): {judged.reason}" if judged else None,
        )
        questions[name] = Question(item, section.key, {name: store})
    return list(questions.values())


# Items of the work that neither code nor a model decided, or two models answer differently.


def item_questions(place: Path) -> list[Question]:
    """Return one question per open item of a study's trials; the quoted files first, around their quotes."""
    folder = StudyFolder(place)
    return [_item_question(folder, state) for state in item_states(folder) if state.open]


def _item_question(folder: StudyFolder, state: WorkItem) -> Question:
    row = state.first
    files = texts_in(folder.trial_raw(row.trial) / WORK)
    places = {each.file: [(each.line, each.line)] for each in state.rows if each.line}
    order = sorted(files, key=lambda path: (path not in places, path.count("/"), path))
    item = ReviewItem(
        id=state.id,
        kind="item",
        title=f"{row.trial} · {row.rubric} · {row.item}",
        question=f"Does the work show this? {row.text}",
        answers=LABELS,
        suspicion=SUSPICION["disputed" if state.disputed else "unjudged"],
        texts=tuple(
            excerpt(f"work · {path}", files[path], places.get(path, ()))
            for path in order[:MAX_FILES]
        ),
        machine=state.reason,
    )
    return Question(item, row.seen, {state.id: folder.reviews})


# Sampled events: what was shown, and what the agent then did.


def sampled_events(place: Path) -> list[str]:
    """List the sampled events in order; empty until a judge has judged every run, because an unjudged
    event has no answer of the judge."""
    study = StudyFolder(place)
    if not study.database.is_file() or not run(study.database, _ANY_VERDICT).rows:
        return []
    if not study.label_sample.is_file() and (waiting := runs_to_judge(study.database)):
        LOG.warning(
            "no events are sampled for review yet: %d runs are not judged; run `skilljuror judge %s`",
            waiting, place,
        )  # fmt: skip
        return []
    drawn = label_sample(place)
    ((uses,),) = run(study.database, "SELECT count(*) FROM uses").rows
    if uses != drawn.uses:
        LOG.warning(
            "%s samples %d uses, but there are %d now, so labels do not represent the new ones; delete it to"
            " resample (existing labels are kept; only those in the new sample count)",
            study.label_sample, drawn.uses, uses,
        )  # fmt: skip
    return [use.event for use in drawn.sample]


def event_questions(place: Path, events: Iterable[str]) -> list[Question]:
    """Return the questions about events, in order; unknown events are skipped."""
    wanted, study = list(events), StudyFolder(place)
    if not wanted or not study.database.is_file():
        return []
    rows = {row["event"]: row for row in run(study.database, _EVENTS, events=wanted).records()}
    questions = []
    for row in (rows[event] for event in wanted if event in rows):
        item = ReviewItem(
            id=f"{PREFIX}{row['event']}",
            kind="uptake",
            title=f"{row['run']} · step {row['step']} · {row['kind']} {row['skill']}/{row['resource']}",
            question=load_definition().question,
            answers=LABELS,
            suspicion=SUSPICION["event"],
            machine=row["machine"],
        )
        evidence = cache(partial(event_texts, place, row["run"], row["event"]))
        questions.append(Question(item, row["seen"], {item.id: study.reviews}, evidence))
    return questions


def event_texts(place: Path, run_name: str, event: str, blind: bool) -> tuple[ReviewText, ...]:
    """Return what an event showed, what its agent then did, and the task, as for a judging model; for a
    missing log the reason, unless the reviewer is blind, because it names the run."""
    try:
        details = look_up(place, run_name)
    except SkilljurorError as error:
        return (ReviewText("the log cannot be read", "" if blind else str(error)),)
    if details.trajectory is None or event not in {each.event for each in details.events}:
        return (ReviewText("the log cannot be read", "it no longer contains this event"),)
    seen = excerpt_of(details.trajectory, details.events, details.manifest, {event})
    (asked,) = seen.events
    texts = {
        "what was shown": asked.shown,
        "what the agent then did": "\n\n".join(map(step_text, seen.steps)),
        "the task": seen.task,
    }
    rules = "\n".join(f"- {rule}" for rule in load_definition().rules)
    cut = {heading: cut_middle(text, SHOWN) for heading, text in texts.items()}
    return tuple(
        ReviewText(heading, text) for heading, text in (cut | {"what counts": rules}).items()
    )


def step_text(step: RunStep) -> str:
    """Return a step as lines: its text, its calls and the beginning of their results."""
    lines = [f"step {step.index}", step.words]
    for call in step.calls:
        ended = {True: "", False: " (failed)", None: ""}[call.ok]
        lines += [f"{call.tool}{ended}: {call.text}"]
        lines += [f"  {line}" for line in call.output.splitlines()]
    return "\n".join(filter(None, lines))


# What went wrong in the failed trials of the treatment (rubrics/harm.yaml).


@lru_cache(maxsize=1)
def harm_codes() -> dict[str, Any]:
    """Return the packaged lists: kind of question -> question and codes with their meaning."""
    content = yaml.safe_load((data_dir("rubrics") / "harm.yaml").read_bytes())
    lists: dict[str, Any] = content["lists"]
    return lists


def harm_questions(place: Path) -> list[Question]:
    """Return the questions about each usable trial of the treatment that its verifier did not pass: how the
    Skill may have led it astray, and, if a verifier scored it, what it failed on; [] without a Skill."""
    folder = StudyFolder(place)
    if not folder.planned or not folder.database.is_file():
        return []
    questions = []
    for row in run(folder.database, _FAILED).records():
        trial = row["run"]
        for kind in CODED if row["status"] == "scored" else CODED[:1]:
            item = ReviewItem(
                id=f"{kind}:{trial}",
                kind=kind,  # type: ignore[arg-type]
                title=f"{trial} · {row['exception'] or row['status']}, reward {row['reward']}",
                question=harm_codes()[kind]["question"],
                answers=tuple(harm_codes()[kind]["codes"]),
                suspicion=SUSPICION["failed trial"] * (1 + row["control_rate"]),
                texts=(ReviewText("failed checks", row["checks"] or ""),),
                machine=f"checks: {row['labels']}" if row["labels"] and kind == "failure" else None,
            )
            evidence = cache(partial(trial_texts, place, item))
            seen = record_digest(folder, trial)
            questions.append(Question(item, seen, {item.id: folder.reviews}, evidence))
    return questions


def trial_texts(place: Path, item: ReviewItem, blind: bool) -> tuple[ReviewText, ...]:
    """Return what a trial's verifier and agent said, its task, and the codes; for a missing log the reason,
    unless the reviewer is blind, because it names the trial."""
    codes = harm_codes()[item.kind]["codes"].items()
    try:
        details = look_up(place, item.id.partition(":")[2])
    except SkilljurorError as error:
        return (ReviewText("the log cannot be read", "" if blind else str(error)),)
    steps = details.trajectory.steps if details.trajectory else ()
    prompts = details.trajectory.messages if details.trajectory else ()
    texts = {
        "failed checks": item.texts[0].text or details.verifier or "",
        "what the agent did": "\n\n".join(step_text(run_step(step)) for step in steps),
        "the task": "\n\n".join(each.text for each in prompts if each.kind == "prompt"),
        "the codes": "\n".join(f"- {code}: {text}" for code, text in codes),
    }
    return tuple(
        ReviewText(heading, cut_middle(text, SHOWN // 2, SHOWN // 2))
        for heading, text in texts.items()
        if text
    )


def cut_middle(text: str, start: int, end: int = 0) -> str:
    """Return a text, of a longer one its first and last characters."""
    left = len(text) - start - end
    if left <= 0:
        return text
    more = f"{text[:start]}\n… {left} more characters"
    return f"{more} …\n{text[-end:]}" if end else more
