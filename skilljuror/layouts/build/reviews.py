"""Apply people's waivers and decisions to the gate results of a build.

Waivers remove findings from any verdict. Decisions apply only to the verdict `review`: a rejected finding
fails the variant, any other adjudication removes the finding. No decision overrides a gate's `fail`.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

from skilljuror.audit.audit import waive
from skilljuror.audit.gates.policies import worst
from skilljuror.audit.gates.rubric import code_answers, load_rubric, rubric_digest
from skilljuror.base.build import (
    LEAK_RULE,
    BuildRecord,
    Finding,
    GateResult,
    GateVerdict,
    VariantManifest,
)
from skilljuror.base.files import StudyFolder, read_record, read_rows
from skilljuror.base.review import (
    ADJUDICATIONS,
    Decision,
    DecisionState,
    ItemAnswer,
    ItemState,
    JudgedBuild,
    RubricVerdict,
    Waiver,
    WaiverState,
    seen_in,
)
from skilljuror.base.review_rows import current_decisions, decided_at, rows_of
from skilljuror.layouts.build.folder import GATE_RESULTS, RECORD, REVIEWS, RUBRIC

NOTHING_DECIDED: Mapping[tuple[str, str], Sequence[Decision]] = {}


def rubric_verdicts(build: Path) -> dict[tuple[str, str], RubricVerdict]:
    """(variant, item) -> the model's latest verdict."""
    return {(row.variant, row.item): row for row in read_rows(RubricVerdict, build / RUBRIC)}


def is_about(verdict: RubricVerdict, record: BuildRecord, entry: VariantManifest) -> bool:
    """Whether a verdict is about the recorded texts and the current rubric."""
    digests = (verdict.rubric_digest, verdict.source_digest, verdict.variant_digest)
    current = rubric_digest(load_rubric()), record.source.tree_digest, entry.tree_digest
    return digests == current


def item_states(
    build: Path,
    record: BuildRecord,
    results: Sequence[GateResult],
    decisions: Mapping[tuple[str, str], Sequence[Decision]] = NOTHING_DECIDED,
) -> tuple[ItemState, ...]:
    """List every item of every variant in record order; `decisions` maps (variant, item) to its
    adjudications."""
    verdicts = rubric_verdicts(build)
    return tuple(
        _adjudicated(state, decisions.get((state.variant, state.item.id), ()))
        for entry in record.variants
        for state in _states_of(entry, record, code_answers(entry, results), verdicts)
    )


def _adjudicated(state: ItemState, decisions: Sequence[Decision]) -> ItemState:
    """Add the adjudication that all reviewers of the current texts agree on."""
    fresh = [one for one in decisions if one.seen == state.seen]
    if not fresh or len({one.adjudication == "reject" for one in fresh}) > 1:
        return state
    decided = {
        "adjudication": fresh[-1].adjudication,
        "adjudicated_by": ", ".join(sorted({one.by for one in fresh})),
        "adjudication_reason": fresh[-1].reason,
    }
    return state.model_copy(update=decided)


def _states_of(
    entry: VariantManifest,
    record: BuildRecord,
    code: dict[str, ItemAnswer | None],
    verdicts: dict[tuple[str, str], RubricVerdict],
) -> Iterator[ItemState]:
    answers: dict[str, ItemAnswer | None] = {}
    for item in load_rubric().items_of(entry.variant):
        given = verdicts.get((entry.variant, item.id))
        current = given is not None and is_about(given, record, entry)
        state = ItemState(
            variant=entry.variant,
            item=item,
            code=code.get(item.id),
            verdict=given if current else None,
            stale=given is not None and not current,
            required=item.requires is None or answers.get(item.requires) != "no",
        )
        answers[item.id] = state.answer
        yield state


def rubric_verdict(states: Sequence[ItemState]) -> GateVerdict:
    """Return the verdict of one variant's items; pass if no model was ever asked."""
    if not any(state.verdict or state.stale for state in states):
        return "pass"
    outcomes = {state.outcome for state in states}
    if "rejected" in outcomes:
        return "fail"
    return "review" if outcomes & {"unresolved", "unanswered"} else "pass"


class Answered(NamedTuple):
    """A question about a build with a person's latest decision."""

    kind: Literal["finding", "rubric"]
    variant: str
    subject: str  # id of the finding or of the rubric item
    decision: Decision


def waivers_of(build: Path) -> list[Waiver]:
    """Return the latest waiver per finding, from the build and its study."""
    build = build.resolve()
    study = _study_of(build)
    rows = rows_of(Waiver, build / REVIEWS)
    if study:
        rows += [row for row in rows_of(Waiver, study.reviews) if row.build == build.name]
    rows = [row for row in rows if row.about.rule != LEAK_RULE]  # about a task, not about its build
    return list({row.finding: row for row in sorted(rows, key=decided_at)}.values())


def answered(build: Path) -> list[Answered]:
    """Return each person's latest decision per question, from the build and its study, without
    undone ones."""
    build = build.resolve()
    study = _study_of(build)
    found = list(_about(rows_of(Decision, build / REVIEWS), None))
    if study:
        found += _about(rows_of(Decision, study.reviews), build.name)
    found.sort(key=lambda one: decided_at(one.decision))
    return list({(one[:3], one.decision.by): one for one in found}.values())


def _study_of(build: Path) -> StudyFolder | None:
    study = StudyFolder(build.parent.parent)
    return study if study.builds == build.parent else None


def _about(decisions: Iterable[Decision], build: str | None) -> Iterator[Answered]:
    """Questions about a build; None matches any name, because the folder may have been renamed."""
    for decision in current_decisions(decisions):
        for item in (decision.item, *decision.repeats):
            kind, _, place = item.partition(":")
            name, _, rest = place.partition("/")
            variant, _, subject = rest.partition("/")
            if kind in {"finding", "rubric"} and build in {None, name}:
                yield Answered(kind, variant, subject, decision)  # type: ignore[arg-type]


def flagged(build: Path) -> list[tuple[GateResult, Finding]]:
    """Return the findings that count in a verdict other than pass before any decision, with their gate
    results; the first of equal ones per variant."""
    held = waivers_of(build)
    found = [
        (result, one)
        for result in _waived(results_of(build), held)
        if result.verdict != "pass"
        for one in counting(result.findings)
    ]
    return list(
        {(result.variant, one.id): (result, one) for result, one in reversed(found)}.values()
    )[::-1]


def counting(findings: Iterable[Finding]) -> Iterator[Finding]:
    """Select the findings that count: not inherited, not waived, not informational."""
    return (one for one in findings if not (one.inherited or one.waived or one.severity == "info"))


def reviewed(build: Path) -> JudgedBuild:
    """Judge a build by gates, rubric and people. Raises StudyError for a damaged record."""
    record, results = read_record(BuildRecord, build / RECORD), results_of(build)
    waivers, answers = waivers_of(build), answered(build)
    waived = _waived(results, waivers) if waivers else results
    after = [_decided(result, answers) for result in waived] if answers else waived
    items = item_states(build, record, after, _on_items(answers))
    variants = tuple(
        _after_rubric(_after_review(entry, results, after), items) for entry in record.variants
    )
    own = [one for result in results for one in result.findings if not one.inherited]
    return JudgedBuild(
        record.model_copy(update={"variants": variants}),
        after,
        tuple(WaiverState(one, not any(map(one.covers, own))) for one in waivers),
        tuple(_state(one, waived, items) for one in answers),
        items,
    )


def _waived(results: Sequence[GateResult], waivers: Sequence[Waiver]) -> list[GateResult]:
    def reason_of(finding: Finding) -> str | None:
        held = [one for one in waivers if one.covers(finding)]
        return f"{held[-1].reason} ({held[-1].by})" if held else None

    return [waive(result, reason_of) for result in results]


def _decided(result: GateResult, answers: Sequence[Answered]) -> GateResult:
    """Apply the decisions that all reviewers agree on to a result with the verdict `review`."""
    if result.verdict != "review":
        return result
    decided = {one.id: _on(answers, result.variant, one) for one in counting(result.findings)}

    def reason_of(finding: Finding) -> str | None:
        decisions = decided.get(finding.id)
        if not decisions or any(one.answer == "reject" for one in decisions):
            return None
        last = decisions[-1]
        names = ", ".join(sorted({one.by for one in decisions}))
        return f"{': '.join(filter(None, (last.answer.replace('_', ' '), last.reason)))} ({names})"

    after = waive(result, reason_of)
    if any(found and all(one.answer == "reject" for one in found) for found in decided.values()):
        return after.model_copy(update={"verdict": "fail"})
    return after


def _on(answers: Iterable[Answered], variant: str, finding: Finding) -> list[Decision]:
    """The adjudications of a finding in its current form."""
    return [
        one.decision
        for one in answers
        if (one.kind, one.variant, one.subject) == ("finding", variant, finding.id)
        and one.decision.seen == seen_in(finding)
        and one.decision.answer in ADJUDICATIONS
    ]


def _on_items(answers: Iterable[Answered]) -> dict[tuple[str, str], list[Decision]]:
    """(variant, item) -> adjudications."""
    found: dict[tuple[str, str], list[Decision]] = {}
    for one in answers:
        if one.kind == "rubric" and one.decision.adjudication:
            found.setdefault((one.variant, one.subject), []).append(one.decision)
    return found


def _after_rubric(entry: VariantManifest, items: Sequence[ItemState]) -> VariantManifest:
    verdict = rubric_verdict([state for state in items if state.variant == entry.variant])
    if entry.verdict is None or verdict == "pass":
        return entry
    return entry.model_copy(update={"verdict": worst((entry.verdict, verdict))})


def _state(
    one: Answered, waived: Iterable[GateResult], items: Iterable[ItemState]
) -> DecisionState:
    seen = one.decision.seen
    if one.kind == "rubric":
        about = [
            bool(state.adjudication)
            for state in items
            if (state.variant, state.item.id, state.seen) == (one.variant, one.subject, seen)
        ]
    else:
        about = [
            result.verdict == "review"
            for result in waived
            for found in result.findings
            if (result.variant, found.id, seen_in(found)) == (one.variant, one.subject, seen)
        ]
    return DecisionState(one.decision, one.kind, one.variant, one.subject, not about, any(about))


def _after_review(
    entry: VariantManifest, before: Sequence[GateResult], after: Sequence[GateResult]
) -> VariantManifest:
    mine = [result for result in after if result.variant == entry.variant]
    if mine == [result for result in before if result.variant == entry.variant]:
        return entry
    return entry.model_copy(update={"verdict": worst(result.verdict for result in mine)})


def results_of(build: Path) -> list[GateResult]:
    """Read the gate results without waivers or decisions."""
    return list(read_rows(GateResult, build / GATE_RESULTS))
