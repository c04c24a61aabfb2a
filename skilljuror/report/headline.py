"""The headline of a report and its uncertainty."""

from dataclasses import dataclass, field
from typing import Any

from skilljuror.measures.stats.coverage import TrialValue
from skilljuror.measures.stats.intervals import Interval
from skilljuror.measures.stats.paired import PairedDelta, contrast, leave_one_out
from skilljuror.measures.stats.power import detectable_effect
from skilljuror.measures.stats.signs import sign_flip, sign_test
from skilljuror.measures.stats.verdicts import Verdict, equivalence_interval, verdict
from skilljuror.report.answers import Answers
from skilljuror.report.formatting import format_points

MethodRow = tuple[Any, ...]
"""(method, low, high, p) in percentage points."""


@dataclass(frozen=True)
class Headline:
    """Headline of a report."""

    title: str
    """The verdict in one sentence; for logs, a summary."""
    advice: str
    """How to read it."""
    observed: bool
    """Logs only, no trials."""
    scripted: bool
    """Whether a scripted policy ran in any trial."""
    overview: dict[str, Any]
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
    facts: tuple[tuple[str, str], ...] = field(default=())
    """Further facts: name and words."""


FEW_TASKS = 10
"""Below it, rare large effects of single tasks are held by 92 % of the 95 % intervals (measures §8.3)."""
METHOD_COLUMNS = ("method", "low_pp", "high_pp", "p")


def headline(answers: Answers) -> Headline:
    """Return the headline of a study or of logs."""
    overview = answers.single("overview")
    scripted = bool(overview["scripted"])
    if not overview["planned"]:
        runs, skills = overview["trajectories"], _opened(answers)
        title = f"{format_count(runs, 'run')} read, {format_count(skills, 'skill')} opened"
        words = _observed_words(overview)
        return Headline(
            title, words, True, scripted, overview, facts=tuple(_observed_facts(answers))
        )
    setup = answers.single("setup")
    delta = primary_contrast(answers, setup["primary_outcome"])
    if delta is None or delta.delta is None:
        words = (
            "The study has no two arms that differ in one setting alone, and names no contrast, or no task has a "
            "verifier, so there is no headline difference."
        )
        if setup["primary_outcome"] == "checks" and setup["treatment"]:
            words = (
                "No trial has a share of points, so there is no headline difference: skilljuror judge STUDY --rubric "
                "grades the items of rubrics, and skilljuror query STUDY contrast_trials gives the reason of each trial."
            )
        return Headline(_no_contrast(overview), words, False, scripted, overview)
    outcome, margin = OUTCOMES[setup["primary_outcome"]], setup["margin"]
    found, quotable = verdict(delta, margin), not delta.refusal
    same = bool(answers.single("same_arms").get("same_arms"))
    return Headline(
        title=("A/A: " if same else "") + _sentence(overview, found, outcome, margin, delta),
        advice=(_same_arms(found) if same else "") + _advice(delta, found, margin, outcome),
        observed=False,
        scripted=scripted,
        overview=overview,
        delta=delta,
        outcome=outcome,
        number=_number(overview, delta, outcome) if quotable else "",
        meaning=_meaning(overview, delta, outcome) if quotable else "",
        quotable=quotable,
        methods=tuple(_methods(delta)) if quotable else (),
        facts=tuple(_facts(answers, delta)),
    )


OUTCOMES = {
    "strict_pass": "strict pass rate", "reward": "mean reward", "checks": "share of awarded points",
}  # fmt: skip
"""Primary outcome -> name of its mean over the trials of a task."""


def primary_contrast(answers: Answers, outcome: str) -> PairedDelta | None:
    """Return `outcome_contrast` of the study's own contrast; None if there are no two arms."""
    study = answers.single("overview")
    return outcome_contrast(answers, outcome, study["treatment"], study["control"])


def outcome_contrast(
    answers: Answers, outcome: str, treatment: str | None, control: str | None
) -> PairedDelta | None:
    """Return treatment minus control in an outcome over all planned trials (measures §1.8). None if there
    are no two arms."""
    if treatment is None or control is None:
        return None
    trials = outcome_trials(answers, outcome, treatment, control)
    return contrast(trials, treatment, control) if trials else None


def outcome_trials(
    answers: Answers, outcome: str, treatment: str, control: str
) -> list[TrialValue]:
    """Return an outcome in all planned trials of two arms; a missing reward counts as 0, and a trial without a
    share of points is not final. A task without a verifier has no reward, and is left out."""
    rows = answers("contrast_trials", treatment=treatment, control=control).records()
    return [
        TrialValue(
            task=row["task"],
            condition=row["condition"],
            value=_value(row, outcome),
            final=row["final"] and (outcome != "checks" or row["share"] is not None),
            contaminated=row["contaminated"],
            flags=row["flags"],
            suppressed=row["suppressed"],
        )
        for row in rows
        if outcome == "checks" or row["strict"] is not None
    ]


def _value(row: dict[str, Any], outcome: str) -> float | None:
    if outcome == "checks":
        return None if row["share"] is None else float(row["share"])
    return float(row["strict"] if outcome == "strict_pass" else row["reward"] or 0.0)


def _sentence(
    overview: dict[str, Any], found: Verdict, outcome: str, margin: float | None, delta: PairedDelta
) -> str:
    """Return the verdict as a sentence, naming contaminated arms and the result without them."""
    if found.word == "undetermined":
        said, reason = found.reason, ""
    else:
        said, reason = _conclusion(overview, found, outcome, margin), found.reason
    parts = [f"{found.word.capitalize()}: {said}", reason]
    if delta.clean is not None and not delta.refusal:
        parts.append(f"without them, the difference is {_with_interval(delta.clean)}")
    return f"{'; '.join(filter(None, parts))}."


def _conclusion(
    overview: dict[str, Any], found: Verdict, outcome: str, margin: float | None
) -> str:
    one, other = overview["treatment"], overview["control"]
    does = "solves" if outcome == "strict pass rate" else "scores"
    if found.word in {"better", "worse"}:
        amount = "more" if found.word == "better" else "less"
        return f"{one} {does} {amount} than {other} on tasks like these"
    alike = f"differ by less than the declared margin of {margin:g} points" if margin else ""
    if found.word == "equivalent":
        return f"{one} and {other} {alike}"
    said = f"it is not shown whether {one} is better or worse than {other}"
    return f"{said}, nor that they {alike}" if alike else said


def _number(overview: dict[str, Any], delta: PairedDelta, outcome: str) -> str:
    contrasted = f"{overview['treatment']} minus {overview['control']}"
    return f"{contrasted}: {_with_interval(delta, f' in {outcome}')}"


def _with_interval(delta: PairedDelta, what: str = "") -> str:
    found, tasks = f"{format_points(delta.delta)}{what}", format_count(delta.tasks, "task")
    if delta.t is not None:
        ends = f"{format_points(delta.t.low)} to {format_points(delta.t.high)}"
        return f"{found} (95 % interval {ends}, {tasks})"
    return f"{found} on {'one task' if delta.tasks == 1 else f'each of {tasks}'}, no interval"


def _meaning(overview: dict[str, Any], delta: PairedDelta, outcome: str) -> str:
    tasks = format_count(delta.tasks, "task")
    mean = f"mean over {tasks} of the {outcome} with {overview['treatment']} minus that with"
    interval = f", with Student's interval over the {tasks}" if delta.t else ""
    return f"{mean} {overview['control']}{interval}"


def _no_contrast(overview: dict[str, Any]) -> str:
    return f"{overview['finished']} of {overview['planned']} planned trials, no contrast"


def _opened(answers: Answers) -> int:
    return sum(bool(row["opened"]) for row in answers("skills_opened").records())


def _observed_words(overview: dict[str, Any]) -> str:
    if not overview["trajectories"]:
        return "No log could be read. The table below lists the reason for each file."
    return (
        "These logs do not come from a planned study, so nothing here compares layouts. The report shows "
        "which skills and resources agents accessed, when, and whether later work shows what they "
        "opened."
    )


def _observed_facts(answers: Answers) -> list[tuple[str, str]]:
    runs = answers("trajectories").records()
    opened = sum(bool(row["skills_opened"]) for row in runs)
    facts = [("Runs that opened a skill", f"{opened} of {len(runs)}")] if runs else []
    first = answers.single("invocation")
    if first.get("readable"):
        facts.append(("First invocation of a skill", _first_invocation(first)))
    for row in answers("uptake").records():
        sampled = row["judge"] is not None and row["judge"].startswith("model/")
        if row["eru_low"] is not None and not sampled:
            facts.append((f"Uptake ({row['judge']})", _uptake(row)))
    return facts


def _first_invocation(row: dict[str, Any]) -> str:
    """Return the median first step; a run that never invoked a skill counts as latest."""
    never = f"{row['never']} of {format_count(row['readable'], 'run')} never invoked one"
    if row["median_step"] is None:
        return f"{never}, so there is no median step"
    return f"median step {row['median_step']:g}; {never}"


def _uptake(row: dict[str, Any]) -> str:
    uses = format_count(row["yes"] + row["no"] + row["open"], "use")
    low, high = f"{100 * row['eru_low']:.0f}", f"{100 * row['eru_high']:.0f}"
    if not row["open"]:
        return f"{low} % of {uses}"
    return f"{low} to {high} % of {uses}; {row['open']} shown but undecided"


def _same_arms(found: Verdict) -> str:
    """What a study says whose arms are the same."""
    words = "A/A: both arms are the same; a difference here is noise or a fault of the setup. "
    if found.word in {"better", "worse"}:
        words += (
            "Chance gives such a verdict in 1 of 20 A/A studies: look first for what else differs between the arms, "
            "such as the order of trials, caches or the machine. "
        )
    return words


def _advice(delta: PairedDelta, found: Verdict, margin: float | None, outcome: str) -> str:
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
    if delta.refusal:
        return (
            "A contaminated trial does not represent its arm. Rerun these trials; the section on coverage "
            "gives the reasons."
        )
    if delta.tasks == 1:
        return "One task is not enough to compare layouts."
    if delta.t is None:
        return (
            "Every task shows the same difference. This means that the tasks are alike, not that the "
            "difference is certain."
        )
    few = (
        " These are few tasks: if one of them carries the difference, the interval is too narrow."
        if delta.tasks < FEW_TASKS
        else ""
    )
    return _reading(found, delta) + _margin(delta, margin) + few


def _reading(found: Verdict, delta: PairedDelta) -> str:
    if found.word in {"better", "worse"}:
        return "Look at the tasks that carry the difference before you generalise."
    if delta.t is not None and delta.t.low <= 0 <= delta.t.high:
        return f"The interval includes 0.{_power(delta)}"
    return "The interval excludes 0."


def _power(delta: PairedDelta) -> str:
    effect = _detectable(delta)
    if effect is None:
        return f" {delta.tasks} tasks with this much variation can hardly show any difference."
    return (
        f" With {delta.tasks} tasks and this much variation, a true difference of {effect:.1f} points would"
        " be detected in four of five studies."
    )


def _margin(delta: PairedDelta, margin: float | None) -> str:
    """Return the interval of the two one-sided tests at 5 % for a declared margin."""
    found = equivalence_interval(delta) if margin else None
    if found is None:
        return ""
    ends = f"{format_points(found.low)} to {format_points(found.high)}"
    return f" The 90 % interval, used to test the declared margin, is {ends}."


def _detectable(delta: PairedDelta) -> float | None:
    """Return the smallest detectable difference in points; None if it exceeds 100."""
    effect = detectable_effect(delta.sd or 0.0, delta.tasks).effect
    return effect if effect is not None and 0 < effect <= 100 else None


def _methods(delta: PairedDelta) -> list[MethodRow]:
    values = [value for _, value in delta.by_task]
    wins, losses = sum(v > 0 for v in values), sum(v < 0 for v in values)
    rows = [_interval_row(f"paired task means, Student t({delta.tasks - 1}) (headline)", delta.t)]
    if delta.clean is not None:
        rows.append(_interval_row("the same without contaminated trials", delta.clean.t))
    rows.append(_interval_row("paired task means, normal (as papers print it)", delta.z))
    flip, signs = sign_flip(values), sign_test(wins, losses)
    rows.append((f"{flip.method} of task differences", None, None, flip.p))
    rows.append((f"{signs.method} of {wins} wins against {losses} losses", None, None, signs.p))
    return rows


def _interval_row(name: str, interval: Interval | None) -> MethodRow:
    if interval is None:
        return name, None, None, None
    return name, interval.low, interval.high, None


def _facts(answers: Answers, delta: PairedDelta) -> list[tuple[str, str]]:
    if delta.refusal:
        return [*_rules(answers), *_attempts(answers)]
    values = [value for _, value in delta.by_task]
    wins, losses = sum(value > 0 for value in values), sum(value < 0 for value in values)
    counts = f"{wins} won, {len(values) - wins - losses} tied, {losses} lost"
    facts = [("Tasks", counts)]
    if spread := leave_one_out(delta):
        words = (
            f"{format_points(spread.low)} (without {spread.low_task}) to"
            f" {format_points(spread.high)} (without {spread.high_task})"
        )
        facts.append(("Leaving one task out", words))
    facts += [*_rules(answers), *_attempts(answers)]
    if effect := _detectable(delta):
        facts.append(("Smallest detectable difference", f"{effect:.1f} pp at 80 % power"))
    return facts


def _rules(answers: Answers) -> list[tuple[str, str]]:
    """Return the rules of the study file that leave out trials or conditions."""
    setup, facts = answers.single("setup"), []
    if setup["healthy_first"]:
        words = (
            f"{setup['healthy_first']} trials of a task and condition, those with a reward first"
        )
        facts.append(("Trials that count", f"{words}; spares left out: {setup['spares']}"))
    if setup["fewest_usable"]:
        words = f"conditions with fewer than {setup['fewest_usable']} usable trials"
        facts.append(("Without figures", f"{words}: {setup['suppressed'] or 'none'}"))
    return facts


def _attempts(answers: Answers) -> list[tuple[str, str]]:
    """Return counts per arm of unanswered, rerun and accepted trials; empty if all are 0."""
    rows = answers("coverage").records()
    facts = []
    for name, column in (
        ("Trials without an answer of the model", "no_answer"),
        ("Trials run more than once", "rerun"),
        ("Accepted as final", "accepted"),
    ):
        if any(row[column] for row in rows):
            words = ", ".join(f"{row['condition']} {row[column]}" for row in rows)
            facts.append((name, words))
    return facts


def format_count(number: int, noun: str) -> str:
    """Return a number and its noun: "1 run", "2 runs"."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
