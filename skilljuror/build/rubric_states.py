"""States of rubric items, combined from code, model and people."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from skilljuror.build.folder import RUBRIC
from skilljuror.files import read_rows
from skilljuror.gates.rubric.items import code_answers, load_rubric
from skilljuror.gates.rubric.prompt import rubric_digest
from skilljuror.models.build import BuildRecord, VariantManifest
from skilljuror.models.gate import GateResult, GateVerdict
from skilljuror.models.review import Decision
from skilljuror.models.rubric import ItemAnswer, ItemState, RubricVerdict

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
