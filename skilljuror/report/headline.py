"""The words of a report: its headline with the uncertainty of it, and remarks before the tables of a section."""

from collections.abc import Callable, Iterator
from typing import Any

from msgspec import Struct

from skilljuror.base.results import unknown_tools_note
from skilljuror.measures.paired import (
    PairedDelta,
    Verdict,
    equivalence_interval,
    leave_one_out,
    verdict,
)
from skilljuror.measures.power import detectable_effect, sign_flip, sign_test
from skilljuror.measures.rates import Interval
from skilljuror.report.computed import OUTCOMES, Answers, low_high, primary_contrast
from skilljuror.report.tables import format_count, format_points, format_value

Row = dict[str, Any]
MethodRow = tuple[str, float | None, float | None, float | None]
"""(method, low, high, p) in percentage points."""
METHOD_COLUMNS = ("method", "low_pp", "high_pp", "p")
FEW_TASKS = 10
"""Below it, rare large effects of single tasks are held by 92 % of the 95 % intervals (measures §8.3)."""


class Headline(Struct, frozen=True, kw_only=True):
    """Headline of a report."""

    title: str
    """The verdict in one sentence; for logs, a summary."""
    advice: str
    """How to read it."""
    observed: bool
    """Logs only, no trials."""
    scripted: bool
    """Whether a scripted policy ran in any trial."""
    overview: Row
    """Row of the query `overview`."""
    delta: PairedDelta | None = None
    """Treatment minus control in the primary outcome; None without two arms."""
    outcome: str = ""
    """Name of the mean primary outcome."""
    number: str = ""
    """The difference with its interval; "" if it must not be quoted."""
    meaning: str = ""
    """Meaning of the number in one sentence; "" if it must not be quoted."""
    quotable: bool = False
    """Whether a number may be quoted."""
    methods: tuple[MethodRow, ...] = ()
    """(method, low, high, p) in percentage points, the headline method first."""
    facts: tuple[tuple[str, str], ...] = ()
    """Further facts: name and words."""


def headline(answers: Answers) -> Headline:
    """Return the headline of a study or of logs."""
    overview = answers.single("overview")
    scripted = bool(overview["scripted"])
    if not overview["planned"]:
        return _observed(answers, overview, scripted)
    setup = answers.single("setup")
    delta = primary_contrast(answers)
    if delta is None or delta.delta is None:
        title = f"{overview['finished']} of {overview['planned']} planned trials, no contrast"
        words = (
            "The study has no two arms that differ in one setting alone, and names no contrast, or no task has a "
            "verifier, so there is no headline difference."
        )
        if setup["primary_outcome"] == "checks" and setup["treatment"]:
            words = (
                "No trial has a share of points, so there is no headline difference: skilljuror judge STUDY --rubric "
                "grades the items of rubrics, and skilljuror query STUDY contrast_trials gives the reason of each trial."
            )
        return Headline(
            title=title, advice=words, observed=False, scripted=scripted, overview=overview
        )
    treatment, control = overview["treatment"], overview["control"]
    outcome, margin = OUTCOMES[setup["primary_outcome"]], setup["margin"]
    conclusion, quotable = verdict(delta, margin), not delta.refusal
    tasks = format_count(delta.tasks, "task")
    over = f", with Student's interval over the {tasks}" if delta.t else ""
    title = _sentence(overview, conclusion, outcome, margin, delta)
    advice = _advice(delta, conclusion, margin, outcome)
    if answers.single("same_arms").get("same_arms"):
        title, advice = f"A/A: {title}", _same_arms(conclusion) + advice
    return Headline(
        title=title,
        advice=advice,
        observed=False,
        scripted=scripted,
        overview=overview,
        delta=delta,
        outcome=outcome,
        number=f"{treatment} minus {control}: {_with_interval(delta, f' in {outcome}')}" if quotable else "",
        meaning=f"mean over {tasks} of the {outcome} with {treatment} minus that with {control}{over}" if quotable else "",
        quotable=quotable,
        methods=tuple(_methods(delta)) if quotable else (),
        facts=tuple(_facts(answers, delta)),
    )  # fmt: skip


def _observed(answers: Answers, overview: Row, scripted: bool) -> Headline:
    """The headline of logs."""
    skills = sum(bool(row["opened"]) for row in answers("skills_opened").records())
    words = "No log could be read. The table below lists the reason for each file."
    if overview["trajectories"]:
        words = (
            "These logs do not come from a planned study, so nothing here compares layouts. The report shows "
            "which skills and resources agents accessed, when, and whether later work shows what they "
            "opened."
        )
    runs = answers("trajectories").records()
    opened = sum(bool(row["skills_opened"]) for row in runs)
    facts = [("Runs that opened a skill", f"{opened} of {len(runs)}")] if runs else []
    first = answers.single("invocation")
    if first.get("readable"):  # a run that never invoked a skill counts as latest
        never = f"{first['never']} of {format_count(first['readable'], 'run')} never invoked one"
        said = f"median step {first['median_step']:g}; {never}" if first["median_step"] is not None else f"{never}, so there is no median step"  # fmt: skip
        facts.append(("First invocation of a skill", said))
    for row in answers("uptake").records():
        sampled = row["judge"] is not None and row["judge"].startswith("model/")
        if row["eru_low"] is None or sampled:
            continue
        uses = format_count(row["yes"] + row["no"] + row["open"], "use")
        low, high = f"{100 * row['eru_low']:.0f}", f"{100 * row['eru_high']:.0f}"
        said = f"{low} % of {uses}"
        if row["open"]:
            said = f"{low} to {high} % of {uses}; {row['open']} shown but undecided"
        facts.append((f"Uptake ({row['judge']})", said))
    return Headline(
        title=f"{format_count(overview['trajectories'], 'run')} read, {format_count(skills, 'skill')} opened",
        advice=words, observed=True, scripted=scripted, overview=overview, facts=tuple(facts),
    )  # fmt: skip


def _sentence(
    overview: Row, conclusion: Verdict, outcome: str, margin: float | None, delta: PairedDelta
) -> str:
    """Return the verdict as a sentence, naming contaminated arms and the result without them."""
    treatment, control = overview["treatment"], overview["control"]
    reason = conclusion.reason
    alike = f"differ by less than the declared margin of {margin:g} points" if margin else ""
    if conclusion.word == "undetermined":
        said, reason = reason, ""
    elif conclusion.word in {"better", "worse"}:
        does = "solves" if outcome == "strict pass rate" else "scores"
        amount = "more" if conclusion.word == "better" else "less"
        said = f"{treatment} {does} {amount} than {control} on tasks like these"
    elif conclusion.word == "equivalent":
        said = f"{treatment} and {control} {alike}"
    else:
        said = f"it is not shown whether {treatment} is better or worse than {control}"
        said += f", nor that they {alike}" if alike else ""
    parts = [f"{conclusion.word.capitalize()}: {said}", reason]
    if delta.clean is not None and not delta.refusal:
        parts.append(f"without them, the difference is {_with_interval(delta.clean)}")
    return f"{'; '.join(filter(None, parts))}."


def _with_interval(delta: PairedDelta, what: str = "") -> str:
    points, tasks = f"{format_points(delta.delta)}{what}", format_count(delta.tasks, "task")
    if delta.t is not None:
        return f"{points} (95 % interval {_between(delta.t)}, {tasks})"
    return f"{points} on {'one task' if delta.tasks == 1 else f'each of {tasks}'}, no interval"


def _between(interval: Interval) -> str:
    return f"{format_points(interval.low)} to {format_points(interval.high)}"


def _same_arms(conclusion: Verdict) -> str:
    """What a study says whose arms are the same."""
    words = "A/A: both arms are the same; a difference here is noise or a fault of the setup. "
    if conclusion.word in {"better", "worse"}:
        words += (
            "Chance gives such a verdict in 1 of 20 A/A studies: look first for what else differs between the arms, "
            "such as the order of trials, caches or the machine. "
        )
    return words


def _advice(delta: PairedDelta, conclusion: Verdict, margin: float | None, outcome: str) -> str:
    if delta.refusal:
        return _mend(delta, outcome)
    if delta.tasks == 1:
        return "One task is not enough to compare layouts."
    if delta.t is None:
        return (
            "Every task shows the same difference. This means that the tasks are alike, not that the "
            "difference is certain."
        )
    if conclusion.word in {"better", "worse"}:
        words = "Look at the tasks that carry the difference before you generalise."
    elif not delta.t.low <= 0 <= delta.t.high:
        words = "The interval excludes 0."
    elif effect := _detectable(delta):
        words = (
            f"The interval includes 0. With {delta.tasks} tasks and this much variation, a true difference of"
            f" {effect:.1f} points would be detected in four of five studies."
        )
    else:
        words = (
            f"The interval includes 0. {delta.tasks} tasks with this much variation can hardly show any"
            " difference."
        )
    if margin and (inner := equivalence_interval(delta)):
        words += f" The 90 % interval, used to test the declared margin, is {_between(inner)}."
    if delta.tasks < FEW_TASKS:
        words += " These are few tasks: if one of them carries the difference, the interval is too narrow."
    return words


def _mend(delta: PairedDelta, outcome: str) -> str:
    """What to do about a difference that must not be quoted."""
    if delta.coverage.suppression:
        return "The study file demands more usable trials of a condition before it gets figures (fewest_usable)."
    if delta.coverage.open_trials and outcome == OUTCOMES["checks"]:
        return (
            "Nobody knows the share of points of these trials: skilljuror query STUDY contrast_trials gives the "
            "reason of each. Rerun a trial without check results, and judge the items of a rubric."
        )
    if delta.coverage.open_trials:
        return (
            "A trial without a final outcome would count as a failure. Finish, rerun or accept these trials; "
            "the section on coverage lists them. The sensitivity table shows the two worst cases. This is an "
            "interim look: to stop here because of it makes a wrong verdict likelier than 5 %."
        )
    return (
        "A contaminated trial does not represent its arm. Rerun these trials; the section on coverage "
        "gives the reasons."
    )


def _detectable(delta: PairedDelta) -> float | None:
    """Return the smallest detectable difference in points; None if it exceeds 100."""
    effect = detectable_effect(delta.sd or 0.0, delta.tasks).effect
    return effect if effect is not None and 0 < effect <= 100 else None


def _methods(delta: PairedDelta) -> Iterator[MethodRow]:
    values = [value for _, value in delta.by_task]
    wins, losses = sum(v > 0 for v in values), sum(v < 0 for v in values)
    student = f"paired task means, Student t({delta.tasks - 1}) (headline)"
    yield (student, *low_high(delta.t), None)
    if delta.clean is not None:
        yield ("the same without contaminated trials", *low_high(delta.clean.t), None)
    yield ("paired task means, normal (as papers print it)", *low_high(delta.z), None)
    flip, signs = sign_flip(values), sign_test(wins, losses)
    yield (f"{flip.method} of task differences", None, None, flip.p)
    yield (f"{signs.method} of {wins} wins against {losses} losses", None, None, signs.p)


def _facts(answers: Answers, delta: PairedDelta) -> Iterator[tuple[str, str]]:
    """What the headline rests on: tasks, the rules of the study file, counts of trials by arm."""
    if not delta.refusal:
        values = [value for _, value in delta.by_task]
        wins, losses = sum(value > 0 for value in values), sum(value < 0 for value in values)
        yield "Tasks", f"{wins} won, {len(values) - wins - losses} tied, {losses} lost"
        if spread := leave_one_out(delta):
            ends = (f"{format_points(value)} (without {task})" for value, task in spread)
            yield "Leaving one task out", " to ".join(ends)
    setup = answers.single("setup")
    if setup["healthy_first"]:
        words = (
            f"{setup['healthy_first']} trials of a task and condition, those with a reward first"
        )
        yield "Trials that count", f"{words}; spares left out: {setup['spares']}"
    if setup["fewest_usable"]:
        words = f"conditions with fewer than {setup['fewest_usable']} usable trials"
        yield "Without figures", f"{words}: {setup['suppressed'] or 'none'}"
    rows = answers("coverage").records()
    for name, column in (
        ("Trials without an answer of the model", "no_answer"),
        ("Trials run more than once", "rerun"),
        ("Accepted as final", "accepted"),
    ):
        if any(row[column] for row in rows):
            yield name, ", ".join(f"{row['condition']} {row[column]}" for row in rows)
    if not delta.refusal and (effect := _detectable(delta)):
        yield "Smallest detectable difference", f"{effect:.1f} pp at 80 % power"


# Remarks: (a sentence or two, commands to run in order)

Remark = tuple[str, tuple[str, ...]]
ASSAY = ("skilljuror assay STUDY --keep", "skilljuror report STUDY")
REVIEW = ("skilljuror review STUDY", "skilljuror report STUDY")


def gate_power(answers: Answers) -> Iterator[Remark]:
    """How much planted drift the gates catch, or how to measure it."""
    rows = answers("gate_power").records()
    if not rows:
        words = (
            "The power of this audit on these variants has not been measured. To measure it and update this"
            " report:"
        )
        yield words, ASSAY
        return
    policies: dict[tuple[str, bool | None], dict[str, Row]] = {}
    for row in rows:
        policies.setdefault((row["policy"], row["own_policy"]), {})[row["kind"]] = row
    for (policy, own), kinds in policies.items():
        audit = f"Under policy {policy}, which judged these variants, this audit"
        if not own:
            audit = f"Under policy {policy}, which did not judge these variants, an audit"
        yield f"{audit} {_caught(kinds.get('drift'), kinds.get('harmless'))}", ()
    assayed, builds = max(row["assayed"] for row in rows), rows[0]["builds"]
    if assayed < builds:
        words = (
            f"{_count(builds - assayed)} of {_count(builds)} builds were not measured and are not in"
            " this figure. To measure all:"
        )
        yield words, ASSAY


def _caught(drift: Row | None, harmless: Row | None) -> str:
    """What one policy makes of planted drift and of harmless edits."""

    def ends(row: Row) -> str:
        review = _count(row["flagged"] - row["failed"])
        return f"{_count(row['failed'])} failed, {review} sent to review"

    def share(row: Row, column: str) -> str:  # 100 % only where it is
        value = row[column]
        return "over 99.9 %" if 0.9995 <= value < 1 else format_value(column, value)

    flagged = ""
    if harmless is not None and harmless["planted"]:
        flagged = f"; it flagged {_count(harmless['flagged'])} of {_count(harmless['planted'])} harmless edits"
        flagged += f": {ends(harmless)}" if harmless["flagged"] else ""
    if drift is None or not drift["planted"]:
        return f"was not tested: no drift could be planted into these variants{flagged}."
    interval = f"no interval: {drift['rate_low_reason']}"
    if drift["rate_low"] is not None:
        interval = (
            f"95 % interval over sources {share(drift, 'rate_low')} to {share(drift, 'rate_high')}"
        )
    return (
        f"would have caught {share(drift, 'flagged_rate')} of {_count(drift['planted'])}"
        f" planted changes ({interval}): {ends(drift)}{flagged}."
    )


def _count(number: int) -> str:
    return format_value("planted", number)


def contrast_coverage(answers: Answers) -> Iterator[Remark]:
    """Why differences between the two arms must not be quoted, or which trials contaminate them."""
    delta = primary_contrast(answers) if answers.single("overview")["planned"] else None
    if delta is None:
        return
    if delta.refusal:
        yield f"{delta.refusal}: do not quote differences between the arms.", ()
    elif contamination := delta.coverage.contamination:
        yield f"{contamination}; figures below leave them out or are not given.", ()


def judge_trust(answers: Answers) -> Iterator[Remark]:
    """Who checked each judge, its corrected difference, and what this check cannot detect."""
    cards = answers("judge_card").records()
    if not cards:
        return
    first = cards[0]
    labelled, blind = first["labelled"], first["blind"]
    if not labelled:
        events = format_value("events", max(card["events"] for card in cards))
        words = (
            f"No person has checked these verdicts ({events} uses). The judge's error rate, and whether it"
            " differs between conditions, is unknown and not reflected in any interval. To label a random"
            " sample and correct the rates:"
        )
        yield words, REVIEW
    else:
        unasked = "" if labelled == first["sampled"] else f" of {first['sampled']} drawn"
        seen = "none" if not blind else "all" if blind == labelled else blind
        words = (
            f"{first['reviewers']} labelled {labelled} uses{unasked}, sampled at random from every condition and"
            f" every answer of a judge, {seen} of them blind to the judge's answer."
        )
        yield words, ()
        # of each judge the last row of its accuracy, which is for all
        accuracy = {row["judge"]: row for row in answers("judge_accuracy").records()}
        differences = {row["judge"]: row for row in answers("uptake_differences").records()}
        for judge in (card["judge"] for card in cards):
            yield _right(judge, accuracy.get(judge)) + _difference(differences.get(judge)), ()
    parts = ["uses that no log recorded", "work that left no trace in a log"]
    if labelled:
        if len((first["reviewers"] or "").split(", ")) == 1:
            parts.append("errors of the one person who labelled")
        if blind < labelled:
            parts.append("the influence of the judge's answer on people who saw it")
        share = format_value("share", 1 - 0.05 ** (1 / labelled))
        parts.append(f"errors in fewer than {share} of the uses, which the sample may have missed")
    yield f"This check cannot detect: {'; '.join(parts)}.", ()


def _right(judge: str, row: Row | None) -> str:
    if row is None:
        return f"{judge}: the sample has no label for its verdicts."

    def share(name: str) -> str:
        value, low, high = (
            format_value(name, row[f"{name}{end}"]) for end in ("", "_low", "_high")
        )
        return value if row[name] is None else f"{value} ({low} to {high})"

    return (
        f"{judge}: {share('precision_share')} of its yes labels are correct (precision), and it"
        f" finds {share('sensitivity_share')} of the uses that people labelled yes (sensitivity)."
    )


def _difference(row: Row | None) -> str:
    if row is None:
        return ""
    names = ("delta_corrected", "delta_corrected_low", "delta_corrected_high", "delta_detectable")
    value, low, high, detectable = (
        format_points(None if row[name] is None else 100 * row[name]) for name in names
    )
    reason = row["delta_corrected_reason"]
    if reason == "between_two_ends":
        return (
            f" Corrected by the labels, the difference {row['contrast']} lies between {low} and {high},"
            " because people could not decide some uses."
        )
    if row["delta_corrected"] is None:
        return _REASONS.get(reason, "")
    alone = row["delta_judge"]
    uncorrected = "" if alone is None else f"; uncorrected {format_points(100 * alone)}"
    return (
        f" Corrected by the labels, the difference {row['contrast']} is {value} ({low} to"
        f" {high}){uncorrected}. A true difference below {detectable.removeprefix('+')} would often be missed."
    )


_REASONS = {
    "labels_of_one_arm_only": " People labelled uses of one condition only, so no difference can be"
    " corrected. Label the sample of the other condition as well.",
    "labels_do_not_reach_all": " The labels do not yet cover every answer of the judge, or uses were"
    " added after the sample was drawn, so no rate is corrected.",
    "no_labels": " There are no labels for the two compared conditions.",
}


def price_dates(answers: Answers) -> Iterator[Remark]:
    """The dates of the prices behind cost."""
    known = {row["price_dates"] for row in answers("efficiency").records() if row["price_dates"]}
    if dates := sorted({date for dates in known for date in dates.split(", ")}):
        yield f"Cost uses list prices as of {' and '.join(dates)}.", ()


def roots_cut(answers: Answers) -> Iterator[Remark]:
    """How often SKILL.md was shown whole in the two arms of the contrast, unless it always was."""
    if words := roots_shown(answers):
        mixed = "the differences below mix layout with what was cut off (table root_shown)"
        yield f"{words}: {mixed}.", ()


def roots_shown(answers: Answers) -> str:
    """Return in how many trials of each arm of the contrast SKILL.md was shown whole; "" if in all."""
    study = answers.single("overview")
    parts, is_cut = [], False
    for arm in filter(None, (study["treatment"], study["control"])):
        rows = [row for row in answers("root_shown").records() if row["condition"] == arm]
        whole, unknown, opened = (
            sum(row[name] for row in rows) for name in ("whole", "unknown", "opened")
        )
        if opened:
            is_cut = is_cut or whole < opened
            open_ = f" ({_count(unknown)} unknown)" if unknown else ""
            parts.append(f"{_count(whole)} of {_count(opened)} trials of {arm}{open_}")
    words = f"Agents that opened a SKILL.md were shown all of it in {' and '.join(parts)}"
    return words if is_cut else ""


def unknown_tools(answers: Answers) -> Iterator[Remark]:
    """Which tools are unknown, and in how many runs that hides whether a Skill was opened."""
    rows = answers("unknown_tools").records()
    note = unknown_tools_note([(row["tool"], row["calls"], row["runs_unknown"]) for row in rows])
    if rows:
        yield f"{note[0].upper()}{note[1:]}.", ()


REMARKS: dict[str, Callable[[Answers], Iterator[Remark]]] = {
    "contrast_coverage": contrast_coverage,
    "gate_power": gate_power,
    "judge_trust": judge_trust,
    "price_dates": price_dates,
    "roots_cut": roots_cut,
    "unknown_tools": unknown_tools,
}
"""Name in `remarks` of sections.yaml -> what it yields."""
