"""Match observation results to the calls of their step."""

from collections.abc import Sequence
from typing import Any

from skilljuror.logs.assembly.builders import CallBuilder
from skilljuror.logs.raw_logs.coercion import as_dict, as_list

ObservationResult = dict[str, Any]

_NO_COMMAND = "mark_task_complete"
"""terminus-2 calls it when done; the step's screen belongs to its commands."""


def call_id_of(value: Any) -> str | None:
    """Return a call's id, also if written as a number, or None."""
    if isinstance(value, str):
        return value or None
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else None


def match_results(
    calls: Sequence[CallBuilder], results: Sequence[ObservationResult]
) -> tuple[list[tuple[CallBuilder, ObservationResult]], list[ObservationResult]]:
    """Return (calls with their results, unmatched results).

    Match by id: of several calls with one id the first without an answer; one call may have several
    results. Results without an id go in order to the last unanswered calls.
    """
    if len(calls) == 1 == len(results) and calls[0].call_id == results[0].get("source_call_id"):
        return [(calls[0], results[0])], []
    answers: dict[int, ObservationResult] = {}
    without_id, unknown = [], []
    for result in results:
        call_id = call_id_of(result.get("source_call_id"))
        if call_id is None:
            without_id.append(result)
            continue
        named = [index for index, call in enumerate(calls) if call.call_id == call_id]
        if not named:
            unknown.append(result)
            continue
        index = next((index for index in named if index not in answers), named[-1])
        answers[index] = merge_results(answers[index], result) if index in answers else result
    takers = _unanswered(calls, answers)[-len(without_id) :] if without_id else []
    answers.update(zip(takers, without_id, strict=False))
    left = unknown + without_id[len(takers) :]
    return [(calls[index], answers[index]) for index in sorted(answers)], left


def _unanswered(calls: Sequence[CallBuilder], answers: dict[int, ObservationResult]) -> list[int]:
    """Indices of the calls that a result without an id may answer."""
    free = [index for index in range(len(calls)) if index not in answers]
    return [index for index in free if calls[index].name != _NO_COMMAND] or free


def merge_results(first: ObservationResult, second: ObservationResult) -> ObservationResult:
    """Merge two results of one call."""
    both = (first, second)
    contents = [result["content"] for result in both if result.get("content") is not None]
    return {
        "source_call_id": first.get("source_call_id"),
        "content": contents[0] if len(contents) == 1 else contents,
        "extra": {**as_dict(first.get("extra")), **as_dict(second.get("extra"))},
        "subagent_trajectory_ref": [
            ref for result in both for ref in as_list(result.get("subagent_trajectory_ref"))
        ],
    }
