"""What the report says first, and how sure it is."""

from dataclasses import dataclass, field
from typing import Any

from skilljuror.reports.answers import Answers
from skilljuror.reports.formatting import format_points
from skilljuror.stats.intervals import Interval, studentized_bootstrap
from skilljuror.stats.paired import Arm, PairedDelta, leave_one_out, paired_delta
from skilljuror.stats.power import detectable_effect, equivalence
from skilljuror.stats.signs import sign_flip, sign_test

MethodRow = tuple[Any, ...]
"""(method, low, high, p) in percentage points."""


@dataclass(frozen=True)
class Headline:
    """The first words of a report."""

    title: str
    """One line."""
    verdict: str
    """What may be concluded, in plain words."""
    observed: bool
    """Logs only, no trials."""
    scripted: bool
    """A scripted policy ran in some trial."""
    overview: dict[str, Any]
    """The database in one row."""
    delta: PairedDelta | None = None
    """Treatment minus control in strict pass rate; None without two arms."""
    meaning: str = ""
    """What the leading number is, in one sentence; "" where none leads."""
    quotable: bool = False
    """Whether every planned trial of both arms has a final outcome."""
    methods: tuple[MethodRow, ...] = ()
    """(method, low, high, p) in percentage points, the headline's own first."""
    facts: tuple[tuple[str, str], ...] = field(default=())
    """Further facts: name and words."""


METHOD_COLUMNS = ("method", "low_pp", "high_pp", "p")


def headline(answers: Answers) -> Headline:
    """The headline of a study, or of a pile of logs."""
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
    treatment, control = outcome_arms(answers, setup["primary_outcome"])
    delta = paired_delta(control, treatment) if treatment and control else None
    if delta is None or delta.delta is None:
        words = "There are no two arms to compare, so there is no headline difference."
        return Headline(_no_contrast(overview), words, False, scripted, overview)
    missing = _unsettled(answers)
    outcome = OUTCOMES[setup["primary_outcome"]]
    verdict = _verdict(overview, delta, missing)
    if setup["margin"] and not missing:
        verdict += _equivalence(delta, setup["margin"])
    return Headline(
        title=_title(overview, delta, missing, outcome),
        verdict=verdict,
        observed=False,
        scripted=scripted,
        overview=overview,
        delta=delta,
        meaning="" if missing else _meaning(overview, delta, outcome),
        quotable=not missing,
        methods=tuple(_methods(delta)),
        facts=tuple(_facts(answers, delta)),
    )


def strict_pass_arms(answers: Answers) -> tuple[Arm, Arm]:
    """Strict outcomes per task of treatment and control over the planned frame (measures §1.8)."""
    treatment: dict[str, list[float]] = {}
    control: dict[str, list[float]] = {}
    for row in answers("task_deltas").records():
        treatment[row["task"]] = _outcomes(row["treatment_passes"], row["treatment_trials"])
        control[row["task"]] = _outcomes(row["control_passes"], row["control_trials"])
    return treatment, control


OUTCOMES = {"strict_pass": "pass rate", "reward": "mean reward"}
"""Primary outcome -> what its mean over the trials of a task is."""


def outcome_arms(answers: Answers, outcome: str) -> tuple[Arm, Arm]:
    """The primary outcome per task of treatment and control over the planned frame; of rewards the
    mean of each task, in which a missing one is 0 (measures §1.8)."""
    if outcome == "strict_pass":
        return strict_pass_arms(answers)
    rows = answers("task_deltas").records()
    return (
        {row["task"]: [row["treatment_reward"]] for row in rows},
        {row["task"]: [row["control_reward"]] for row in rows},
    )


def _outcomes(passes: int, trials: int) -> list[float]:
    return [1.0] * passes + [0.0] * (trials - passes)


def _unsettled(answers: Answers) -> int:
    rows = answers("task_deltas").records()
    planned = sum(row["treatment_trials"] + row["control_trials"] for row in rows)
    settled = sum(row["treatment_settled"] + row["control_settled"] for row in rows)
    return int(planned - settled)


def _title(overview: dict[str, Any], delta: PairedDelta, missing: int, outcome: str) -> str:
    contrast = f"{overview['treatment']} minus {overview['control']}"
    if missing:
        open_trials = format_count(missing, "planned trial")
        return f"{contrast}: no headline yet, {open_trials} without a final outcome"
    what = "strict pass rate" if outcome == "pass rate" else outcome
    if delta.t is None:
        return f"{contrast}: {format_points(delta.delta)} in {what} on one task, no interval"
    return (
        f"{contrast}: {format_points(delta.delta)} in {what} "
        f"(95 % interval {format_points(delta.t.low)} to {format_points(delta.t.high)}, {delta.tasks} tasks)"
    )


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
        return "No log could be read: see what became of each file below."
    return (
        "These are logs as they were found: nobody planned their trials for a study, and "
        "nothing here compares layouts. The report says which skills and resources agents "
        "touched, when, and whether what they opened can be seen in their work."
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
            facts.append((f"Put to work ({row['judge']})", _put_to_work(row)))
    return facts


def _first_invocation(row: dict[str, Any]) -> str:
    """A run without one is later than every other."""
    never = f"{row['never']} of {format_count(row['readable'], 'run')} never invoked one"
    if row["median_step"] is None:
        return f"{never}, so there is no median step"
    return f"median step {row['median_step']:g}; {never}"


def _put_to_work(row: dict[str, Any]) -> str:
    again, unparsed = row["not_seen_again"], row["unparsed"]
    uses = format_count(row["yes"] + row["no"] + again + unparsed, "use")
    low, high = f"{100 * row['eru_low']:.0f}", f"{100 * row['eru_high']:.0f}"
    if not again + unparsed:
        return f"{low} % of {uses}"
    why = [f"{again} undecided: shown, and not seen again"] if again else []
    why += [f"{unparsed} without a usable answer of the model"] if unparsed else []
    return f"{low} to {high} % of {uses}; {', '.join(why)}"


def _verdict(overview: dict[str, Any], delta: PairedDelta, missing: int) -> str:
    if missing:
        return (
            "The difference must not be quoted: trials without an outcome count as failures "
            "until they are run. The section on coverage lists them."
        )
    if delta.t is None:
        return "One task gives no interval: a difference between layouts needs more tasks."
    if not delta.se:
        return (
            "Every task shows the same difference, so the interval has no width. That says that "
            "the tasks are alike, not that the difference is certain."
        )
    return _reading(overview, delta, delta.t)


def _reading(overview: dict[str, Any], delta: PairedDelta, interval: Interval) -> str:
    if interval.low <= 0 <= interval.high:
        return f"The interval holds 0: this study does not show a difference.{_power(delta)}"
    better = overview["treatment"] if interval.low > 0 else overview["control"]
    return (
        f"The interval leaves 0 out: on tasks like these, {better} solves more. Look at the tasks "
        "that carry the difference before you generalise."
    )


def _power(delta: PairedDelta) -> str:
    effect = _detectable(delta)
    if effect is None:
        return f" {delta.tasks} tasks that vary as these do could hardly have shown any."
    return (
        f" With {delta.tasks} tasks that vary as these do, it would have found one of "
        f"{effect:.1f} points in four of five repetitions."
    )


def _equivalence(delta: PairedDelta, margin: float) -> str:
    """What the study says of the margin that it declared, by two one-sided tests at 5 %."""
    found = equivalence(delta, margin)
    declared = f" The study declared a margin of {margin:g} points: "
    if found.interval is None:
        return f"{declared}one task cannot show that the arms are equal within it."
    ends = f"{format_points(found.interval.low)} to {format_points(found.interval.high)}"
    if found.verdict == "equivalent":
        return f"{declared}the arms are equal within it (90 % interval {ends})."
    return f"{declared}it is not shown that the arms are equal within it (90 % interval {ends})."


def _detectable(delta: PairedDelta) -> float | None:
    """Smallest detectable difference in points; None where not even 100 points would do."""
    effect = detectable_effect(delta.sd or 0.0, delta.tasks).effect
    return effect if effect is not None and 0 < effect <= 100 else None


def _methods(delta: PairedDelta) -> list[MethodRow]:
    values = [value for _, value in delta.by_task]
    wins, losses = sum(v > 0 for v in values), sum(v < 0 for v in values)
    rows = [_interval_row(f"paired task means, Student t({delta.tasks - 1}) (headline)", delta.t)]
    boot = studentized_bootstrap(values)
    rows.append(_interval_row("studentized bootstrap over tasks", boot.interval if boot else None))
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
    found = answers.single("win_tie_loss")
    counts = f"{found['wins']} won, {found['ties']} tied, {found['losses']} lost"
    facts = [("Tasks", counts)]
    if spread := leave_one_out(delta):
        words = (
            f"{format_points(spread.low)} (without {spread.low_task}) to"
            f" {format_points(spread.high)} (without {spread.high_task})"
        )
        facts.append(("Leaving one task out", words))
    facts += _attempts(answers)
    if effect := _detectable(delta):
        facts.append(("Smallest detectable difference", f"{effect:.1f} pp at 80 % power"))
    return facts


def _attempts(answers: Answers) -> list[tuple[str, str]]:
    """What was run again and what a person took as final, arm by arm; nothing where neither happened."""
    rows = answers("coverage").records()
    facts = []
    for name, column in (("Trials run more than once", "rerun"), ("Accepted as final", "accepted")):
        if any(row[column] for row in rows):
            words = ", ".join(f"{row['condition']} {row[column]}" for row in rows)
            facts.append((name, words))
    return facts


def format_count(number: int, noun: str) -> str:
    """A number and its noun: "1 run", "2 runs"."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
