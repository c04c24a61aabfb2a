"""Remarks before the tables of a section, generated from query results."""

from collections.abc import Callable
from typing import Any, NamedTuple

from skilljuror.base.results import unknown_tools_note
from skilljuror.report.answers import Answers
from skilljuror.report.computed import answer
from skilljuror.report.formatting import format_points, format_value
from skilljuror.report.headline import primary_contrast


class Remark(NamedTuple):
    """One remark."""

    words: str
    """A sentence or two."""
    commands: tuple[str, ...] = ()
    """Commands to run, in order."""


def gate_power(answers: Answers) -> list[Remark]:
    """Return how much planted drift the gates catch, or how to measure it."""
    rows = answers("gate_power").records()
    if not rows:
        words = (
            "The power of this audit on these variants has not been measured. To measure it and update this"
            " report:"
        )
        return [Remark(words, ("skilljuror assay STUDY --keep", "skilljuror report STUDY"))]
    policies: dict[tuple[str, bool | None], dict[str, dict[str, Any]]] = {}
    for row in rows:
        policies.setdefault((row["policy"], row["own_policy"]), {})[row["kind"]] = row
    remarks = [
        Remark(f"{_audit_under(policy, own)} {_caught(kinds)}")
        for (policy, own), kinds in policies.items()
    ]
    return [*remarks, *_unmeasured(rows)]


def _audit_under(policy: str, own: bool | None) -> str:
    if own:
        return f"Under policy {policy}, which judged these variants, this audit"
    return f"Under policy {policy}, which did not judge these variants, an audit"


def _caught(kinds: dict[str, dict[str, Any]]) -> str:
    drift, flagged = kinds.get("drift"), _flagged(kinds.get("harmless"))
    if drift is None or not drift["planted"]:
        words = "was not tested: no drift could be planted into these variants"
        return f"{words}{flagged and f'; it {flagged}'}."
    return (
        f"would have caught {_share(drift, 'flagged_rate')} of {_count(drift['planted'])}"
        f" planted changes ({_between(drift)}): {_ends(drift)}{flagged and f'; it {flagged}'}."
    )


def _between(row: dict[str, Any]) -> str:
    """The interval over sources, or why there is none."""
    if row["rate_low"] is None:
        return f"no interval: {row['rate_low_reason']}"
    return f"95 % interval over sources {_share(row, 'rate_low')} to {_share(row, 'rate_high')}"


def _flagged(harmless: dict[str, Any] | None) -> str:
    if harmless is None or not harmless["planted"]:
        return ""
    counts = f"{_count(harmless['flagged'])} of {_count(harmless['planted'])} harmless edits"
    return f"flagged {counts}" + (f": {_ends(harmless)}" if harmless["flagged"] else "")


def _ends(row: dict[str, Any]) -> str:
    review = _count(row["flagged"] - row["failed"])
    return f"{_count(row['failed'])} failed, {review} sent to review"


def _share(row: dict[str, Any], column: str) -> str:
    """A share that says 100 % only where it is."""
    value = row[column]
    return "over 99.9 %" if 0.9995 <= value < 1 else format_value(column, value)


def _count(number: int) -> str:
    return format_value("planted", number)


def _unmeasured(rows: list[dict[str, Any]]) -> list[Remark]:
    """Return a remark on builds that were not measured."""
    assayed, builds = max(row["assayed"] for row in rows), rows[0]["builds"]
    if assayed >= builds:
        return []
    words = (
        f"{_count(builds - assayed)} of {_count(builds)} builds were not measured and are not in"
        " this figure. To measure all:"
    )
    return [Remark(words, ("skilljuror assay STUDY --keep", "skilljuror report STUDY"))]


def contrast_coverage(answers: Answers) -> list[Remark]:
    """Return why differences between the two arms must not be quoted, or which trials contaminate them."""
    if not answers.single("overview")["planned"]:
        return []
    delta = primary_contrast(answers, answers.single("setup")["primary_outcome"])
    if delta is None:
        return []
    if delta.refusal:
        return [Remark(f"{delta.refusal}: do not quote differences between the arms.")]
    found = delta.coverage.contamination
    return [Remark(f"{found}; figures below leave them out or are not given.")] if found else []


REVIEW = ("skilljuror review STUDY", "skilljuror report STUDY")


def judge_trust(answers: Answers) -> list[Remark]:
    """Return who checked each judge, its corrected difference, and blind spots."""
    cards = answers("judge_card").records()
    if not cards:
        return []
    if not cards[0]["labelled"]:
        events = format_value("events", max(card["events"] for card in cards))
        words = (
            f"No person has checked these verdicts ({events} uses). The judge's error rate, and whether it"
            " differs between conditions, is unknown and not reflected in any interval. To label a random"
            " sample and correct the rates:"
        )
        return [Remark(words, REVIEW), _blind_spots(cards[0])]
    accuracy = {
        row["judge"]: row for row in answer(answers, "judge_accuracy").records()
    }  # the last is for all
    differences = {row["judge"]: row for row in answer(answers, "uptake_differences").records()}
    remarks = [Remark(_looked(cards[0]))]
    for card in cards:
        judge = card["judge"]
        words = _right(judge, accuracy.get(judge)) + _difference(differences.get(judge))
        remarks.append(Remark(words))
    return [*remarks, _blind_spots(cards[0])]


def _looked(card: dict[str, Any]) -> str:
    labelled, sampled = card["labelled"], card["sampled"]
    unasked = "" if labelled == sampled else f" of {sampled} drawn"
    blind = "none" if not card["blind"] else "all" if card["blind"] == labelled else card["blind"]
    return (
        f"{card['reviewers']} labelled {labelled} uses{unasked}, sampled at random from every condition and"
        f" every answer of a judge, {blind} of them blind to the judge's answer."
    )


def _right(judge: str, row: dict[str, Any] | None) -> str:
    if row is None:
        return f"{judge}: the sample has no label for its verdicts."
    return (
        f"{judge}: {_interval(row, 'precision_share')} of its yes labels are correct (precision), and it"
        f" finds {_interval(row, 'sensitivity_share')} of the uses that people labelled yes (sensitivity)."
    )


def _interval(row: dict[str, Any], name: str) -> str:
    value, low, high = (format_value(name, row[f"{name}{end}"]) for end in ("", "_low", "_high"))
    return value if row[name] is None else f"{value} ({low} to {high})"


def _difference(row: dict[str, Any] | None) -> str:
    if row is None:
        return ""
    names = ("delta_corrected", "delta_corrected_low", "delta_corrected_high", "delta_detectable")
    value, low, high, seen = (
        format_points(None if row[name] is None else 100 * row[name]) for name in names
    )
    if row["delta_corrected_reason"] == "between_two_ends":
        return (
            f" Corrected by the labels, the difference {row['contrast']} lies between {low} and {high},"
            " because people could not decide some uses."
        )
    if row["delta_corrected"] is None:
        return _REASONS.get(row["delta_corrected_reason"], "")
    alone = row["delta_judge"]
    uncorrected = "" if alone is None else f"; uncorrected {format_points(100 * alone)}"
    return (
        f" Corrected by the labels, the difference {row['contrast']} is {value} ({low} to"
        f" {high}){uncorrected}. A true difference below {seen.removeprefix('+')} would often be missed."
    )


_REASONS = {
    "labels_of_one_arm_only": " People labelled uses of one condition only, so no difference can be"
    " corrected. Label the sample of the other condition as well.",
    "labels_do_not_reach_all": " The labels do not yet cover every answer of the judge, or uses were"
    " added after the sample was drawn, so no rate is corrected.",
    "no_labels": " There are no labels for the two compared conditions.",
}


def _blind_spots(card: dict[str, Any]) -> Remark:
    """Return what this check cannot detect."""
    parts = ["uses that no log recorded", "work that left no trace in a log"]
    people = (card["reviewers"] or "").split(", ") if card["labelled"] else []
    if len(people) == 1:
        parts.append("errors of the one person who labelled")
    if card["labelled"] and card["blind"] < card["labelled"]:
        parts.append("the influence of the judge's answer on people who saw it")
    if card["labelled"]:
        most = 1 - 0.05 ** (1 / card["labelled"])
        share = format_value("share", most)
        parts.append(f"errors in fewer than {share} of the uses, which the sample may have missed")
    return Remark(f"This check cannot detect: {'; '.join(parts)}.")


def price_dates(answers: Answers) -> list[Remark]:
    """Return the dates of the prices behind cost; empty if no cost is known."""
    found = {row["price_dates"] for row in answers("efficiency").records() if row["price_dates"]}
    dates = sorted({date for dates in found for date in dates.split(", ")})
    if not dates:
        return []
    return [Remark(f"Cost uses list prices as of {' and '.join(dates)}.")]


def roots_cut(answers: Answers) -> list[Remark]:
    """Return how often SKILL.md was shown whole in the two arms of the contrast, unless it always was."""
    found = roots_shown(answers)
    mixed = "the differences below mix layout with what was cut off (table root_shown)"
    return [Remark(f"{found}: {mixed}.")] if found else []


def roots_shown(answers: Answers) -> str:
    """Return in how many trials of each arm of the contrast SKILL.md was shown whole; "" if in all."""
    study = answers.single("overview")
    told, cut = [], False
    for arm in filter(None, (study["treatment"], study["control"])):
        rows = [row for row in answers("root_shown").records() if row["condition"] == arm]
        whole, unknown, opened = (
            sum(row[name] for row in rows) for name in ("whole", "unknown", "opened")
        )
        if opened:
            cut = cut or whole < opened
            open_ = f" ({_count(unknown)} unknown)" if unknown else ""
            told.append(f"{_count(whole)} of {_count(opened)} trials of {arm}{open_}")
    words = f"Agents that opened a SKILL.md were shown all of it in {' and '.join(told)}"
    return words if cut else ""


def unknown_tools(answers: Answers) -> list[Remark]:
    """Return which tools are unknown, and in how many runs that hides whether a Skill was opened."""
    rows = answers("unknown_tools").records()
    counts = [(row["tool"], row["calls"], row["runs_unknown"]) for row in rows]
    note = unknown_tools_note(counts)
    return [Remark(f"{note[0].upper()}{note[1:]}.")] if counts else []


REMARKS: dict[str, Callable[[Answers], list[Remark]]] = {
    "contrast_coverage": contrast_coverage,
    "gate_power": gate_power,
    "judge_trust": judge_trust,
    "price_dates": price_dates,
    "roots_cut": roots_cut,
    "unknown_tools": unknown_tools,
}
"""Name in `Section.remarks` -> function."""
