"""Answers to the questions of a report, and the tables that need an estimator on top of SQL.

A computed table is a function from answers to rows; computed.yaml holds its columns and what they mean.
"""

import math
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from statistics import fmean
from typing import Any

import yaml
from msgspec import Struct
from msgspec.structs import replace

from skilljuror.base.errors import without_paths
from skilljuror.measures.agreement import Agreement, agreement, judge_accuracy, krippendorff_alpha
from skilljuror.measures.paired import (
    ALPHA,
    NO_VARIATION,
    ONE_TASK,
    PairedDelta,
    TrialValue,
    VerdictWord,
    contrast,
    paired_delta,
    verdict,
)
from skilljuror.measures.power import (
    anova,
    detectable_effect,
    false_discovery_rates,
    holm,
    sign_flip,
)
from skilljuror.measures.prediction_powered import (
    CorrectedRate,
    JudgedItem,
    corrected_difference,
    corrected_rate,
    judged_difference,
    judged_rate,
)
from skilljuror.measures.rates import (
    MIN_TASKS,
    MIN_TASKS_SKEWED,
    Arm,
    Estimate,
    Interval,
    geometric_ratio,
    mean_rate,
    normalised_gain,
    per_pass,
    rate_interval,
    share,
)
from skilljuror.store.connect import QueryResult, Reader
from skilljuror.store.questions import (
    CONTRAST,
    FIRST_USES,
    NOT_USABLE,
    TASKS,
    Query,
    meaning_of_mark,
    query,
    run,
)

Row = tuple[Any, ...]
Record = dict[str, Any]

PRIVATE = frozenset(
    {
        "action_quote", "file", "message", "path", "person", "preview", "project", "quote", "said", "source",
        "source_quote", "source_text", "variant_text",
    }
)  # fmt: skip
"""Columns that hold words or paths of a log or of a bundle, or names of people and their projects."""
MOST_ROWS = 50_000
"""Rows of a list of uses; `skilljuror query` has them all."""
WHOLE = frozenset({"cells", "overview", "setup"})
"""Questions about the whole study, which are not limited to some of its tasks."""


class Answers:
    """Answers of one database, each made once; `quotes` false leaves every private column out, and `tasks` all
    other tasks."""

    def __init__(self, reader: Reader, *, quotes: bool = True, tasks: Iterable[str] = ()) -> None:
        self._reader = reader
        self._tasks = " ".join(tasks)
        self._answers: dict[str, QueryResult] = {}
        self.cut: set[str] = set()
        """Names of answers with the first `MOST_ROWS` rows alone."""
        self.quotes = quotes
        """Whether words and paths of logs may be shown."""

    def __call__(self, name: str, **params: str) -> QueryResult:
        """The answer to a named question, or the rows of a computed table. Raises QueryError."""
        key = " ".join([name, *(f"{param}={value}" for param, value in sorted(params.items()))])
        if key not in self._answers:
            self._answers[key] = self._computed(name) if name in COMPUTED else self._answer(name, params)  # fmt: skip
        return self._answers[key]

    def single(self, name: str) -> Record:
        """The only row of an answer; empty when there is none."""
        return next(iter(self(name).records()), {})

    def _answer(self, name: str, params: dict[str, Any]) -> QueryResult:
        if self._tasks and name not in WHOLE:
            params = {**params, TASKS: self._tasks}
        if cut := FIRST_USES in query(name).params:
            params = {**params, FIRST_USES: MOST_ROWS + 1}
        answer = run(self._reader, name, **params)
        if cut and len(answer.rows) > MOST_ROWS:
            self.cut.add(name)
            answer = answer._replace(rows=answer.rows[:MOST_ROWS])
        return answer if self.quotes else shareable(answer)

    def _computed(self, name: str) -> QueryResult:
        """The rows of a computed table; with arms, each with the mark of a question, which is the reason for its
        null columns in `whole`."""
        table, rows = documentation(name), COMPUTED[name](self)
        if not table.arms:
            return QueryResult(table.columns, list(rows))
        columns, marked = table.columns[:-1], []
        for values in rows:
            row = dict(zip(columns, values, strict=True))
            mark = self.mark(row, table.arms)
            if mark:
                reasons = {f"{column}_reason" for column in table.whole} & row.keys()
                row |= dict.fromkeys(table.whole) | dict.fromkeys(reasons, mark)
            marked.append((*row.values(), mark or None))
        return QueryResult(table.columns, marked)

    def mark(self, row: Mapping[str, Any], arms: tuple[str, ...]) -> str:
        """Why an arm that a row names is not whole; "" if all are."""
        names = map(self.single("setup").get, CONTRAST) if arms == ("contrast",) else map(row.get, arms)  # fmt: skip
        words = {arm["condition"]: arm[NOT_USABLE] for arm in self("outcomes").records()}
        return "; ".join(filter(None, map(words.get, names)))


def shareable(answer: QueryResult) -> QueryResult:
    """What of an answer may leave the machine: no private column, no error of a log, which may quote it, and
    no absolute path in any text."""
    kept = [name for name in answer.columns if name not in PRIVATE]
    rows = []
    for row in answer.records():
        if row.get("status") == "error" and "reason" in row:
            row["reason"] = None
        rows.append(tuple(_without_paths(row[name]) for name in kept))
    return QueryResult(tuple(kept), rows)


def _without_paths(cell: Any) -> Any:
    if isinstance(cell, str):
        return without_paths(cell)
    return [*map(_without_paths, cell)] if isinstance(cell, list) else cell


@cache
def data(name: str) -> Any:
    """Return a YAML file of the report, read once."""
    return yaml.safe_load((Path(__file__).parent / f"{name}.yaml").read_text(encoding="utf-8"))


def names(text: str) -> tuple[str, ...]:
    """The parts of a text between commas."""
    return tuple(text.split(", ")) if text else ()


@cache
def documentation(name: str) -> Query:
    """What a question, or a computed table, says of itself; the SQL of a computed table is that of
    the question it starts from."""
    table = data("computed").get(name)
    if table is None:
        return query(name)
    arms, whole = names(table.get("arms", "")), names(table.get("whole", ""))
    mark = {NOT_USABLE: meaning_of_mark(whole)} if arms else {}
    return query(table["source"])._replace(
        name=name,
        question=table["question"],
        grain=table["grain"],
        columns=(*names(table["columns"]), *mark),
        read=table["read"],
        definitions=table["definitions"] | mark,
        arms=arms,
        whole=whole,
    )


# Outcomes of the contrast

OUTCOMES = {
    "strict_pass": "strict pass rate", "reward": "mean reward", "checks": "share of awarded points",
}  # fmt: skip
"""Primary outcome -> name of its mean over the trials of a task."""


def primary_contrast(answers: Answers) -> PairedDelta | None:
    """Return `outcome_contrast` of the study's own contrast; None if there are no two arms."""
    study, setup = answers.single("overview"), answers.single("setup")
    return outcome_contrast(answers, setup["primary_outcome"], study["treatment"], study["control"])


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
    values: dict[str, Callable[[Record], float | None]] = {
        "strict_pass": lambda row: float(row["strict"]),
        "reward": lambda row: float(row["reward"] or 0.0),
        "checks": lambda row: None if row["share"] is None else float(row["share"]),
    }
    return [
        TrialValue(
            task=row["task"],
            condition=row["condition"],
            value=values[outcome](row),
            final=row["final"] and (outcome != "checks" or row["share"] is not None),
            contaminated=row["contaminated"],
            flags=row["flags"],
            suppressed=row["suppressed"],
        )
        for row in rows
        if outcome == "checks" or row["strict"] is not None
    ]


# Ends of intervals, and p values

ONE_SIDED = "a single task holds all of one kind"
"""Why a rate has no interval: the jackknife cannot leave that task out."""
Ends = tuple[float | None, str | None, float | None]


def ends(made: PairedDelta | Estimate, least: int = 2, scale: float = 1.0) -> Ends:
    """Lower end of a 95 % interval, why there is none, upper end; none over fewer tasks than `least`."""
    interval = made.t if isinstance(made, PairedDelta) else made.interval
    value = made.delta if isinstance(made, PairedDelta) else made.value
    if value is None or not made.tasks:
        return None, None, None
    if made.tasks < least:
        return None, ONE_TASK if least == 2 else f"fewer than {least} tasks", None
    if interval is None:
        return None, ONE_SIDED if least > 2 and 0 < value < 1 else NO_VARIATION, None
    return scale * interval.low, None, scale * interval.high


def low_high(interval: Interval | None) -> tuple[float | None, float | None]:
    """Both ends, or none."""
    return (interval.low, interval.high) if interval else (None, None)


def difference(delta: PairedDelta) -> Row:
    """Difference of an outcome as a fraction, why there is none, and its `ends`."""
    low, reason, high = ends(delta, scale=0.01)
    if delta.refusal or delta.delta is None:
        return None, delta.refusal or None, None, reason, None
    return delta.delta / 100, None, low, reason, high


def flip_p(delta: PairedDelta) -> float | None:
    """p by sign flips over tasks, as in `study.contrasts`."""
    return sign_flip([value for _, value in delta.by_task]).p if delta.tasks else None


def adjusted_word(word: VerdictWord, p: float | None) -> VerdictWord:
    """The verdict in a family of comparisons: better or worse also needs an adjusted p below 5 %."""
    shown = word not in {"better", "worse"} or (p is not None and p < ALPHA)
    return word if shown else "inconclusive"


def largest_p(delta: PairedDelta) -> float | None:
    """The larger p of all trials and of those that are not contaminated: as the verdict, it must hold with
    and without them. None where the difference is not quoted."""
    both = () if delta.refusal else (delta, delta.clean)
    known = [flip_p(version) for version in both if version is not None]
    return max((p for p in known if p is not None), default=None)


# RQ2, outcome and cost

COSTS = {
    "agent_minutes": ("minutes", "minutes", "time"),
    "display_tokens": ("tokens", "display_tokens", "display tokens"),
    "cost_usd": ("USD", "cost_usd", "cost"),
}
"""Measures that are compared as ratios: unit, column of `trials`, resource of `efficiency`."""
HEADLINE = "all"
"""The part that is the headline."""


def effect(answers: Answers) -> list[Row]:
    """The parts of the difference between layouts, each as a paired mean over tasks with its verdict."""
    setup = answers.single("setup")
    rows: list[list[Any]] = []
    for part in answers("effect_parts").records():
        arms = part["treatment"], part["control"]
        delta = outcome_contrast(answers, setup["primary_outcome"], *arms)
        if delta is None or not part["tasks"]:
            reason = part["delta_rate_reason"]
            rows.append([part["part"], *arms, 0, None, reason, None, None, None, None, None])
        else:
            word = verdict(delta, setup["margin"]).word
            rows.append([part["part"], *arms, delta.tasks, *difference(delta), word, largest_p(delta)])  # fmt: skip
    parts = [row for row in rows if row[-1] is not None and row[0] != HEADLINE]
    adjusted = dict(zip((row[0] for row in parts), holm([row[-1] for row in parts]), strict=True))
    for row in rows:
        row[-1] = adjusted.get(row[0], row[-1])
        row[-2] = row[-2] and adjusted_word(row[-2], row[-1])
    return [tuple(row) for row in rows]


def ratios(answers: Answers) -> Iterator[Row]:
    """Treatment / control in time, tokens and cost, as ratios of geometric means over tasks."""
    setup, sums, arms = answers.single("setup"), task_sums(answers), measure_arms(answers, COSTS)
    for metric, (unit, *_) in COSTS.items():
        treatment, control = arms[metric]
        paired = geometric_ratio(control, treatment)
        after, before = (sums.get((setup[arm], metric), {}) for arm in CONTRAST)
        both = sorted(after.keys() & before.keys())
        per = per_pass({task: after[task] for task in both}, {task: before[task] for task in both})
        if treatment or control:
            yield (
                metric, unit, *_trials(treatment, control, paired.dropped, paired.tasks), paired.tasks,
                paired.value, *ends(paired), per.value, *ends(per),
            )  # fmt: skip


def _trials(treatment: Arm, control: Arm, dropped: Collection[str], tasks: int) -> tuple[int, int]:
    """Trials of each arm with a value, of the tasks that enter; of all tasks if none does."""
    out = dropped if tasks else ()
    after, before = (
        sum(len(values) for task, values in arm.items() if task not in out)
        for arm in (treatment, control)
    )
    return after, before


def measure_arms(answers: Answers, metrics: Iterable[str]) -> dict[str, tuple[Arm, ...]]:
    """Values of measures in usable trials per task, of (treatment, control); nulls are left out."""
    names = [*metrics]
    arms: dict[str, tuple[dict[str, list[float]], dict[str, list[float]]]] = {
        name: (defaultdict(list), defaultdict(list)) for name in names
    }
    for metric, task, _, treated, _, value, _, unusable in answers(
        "measure_values", metrics=" ".join(names)
    ).rows:
        if value is not None and unusable is None:
            arms[metric][not treated][task].append(value)
    return {**arms}


def task_sums(answers: Answers) -> dict[tuple[str, str], dict[str, tuple[float, float]]]:
    """(condition, measure) -> task -> use and strict passes of all planned trials; without those that have
    a trial of unknown use."""
    sums: dict[tuple[str, str], dict[str, tuple[float, float]]] = defaultdict(dict)
    unknown = set()
    for row in answers("trials").records():
        if row["strict"] is None:
            continue
        for metric, (_, column, _) in COSTS.items():
            cell = row["condition"], metric
            use, passes = sums[cell].get(row["task"], (0.0, 0))
            sums[cell][row["task"]] = use + (row[column] or 0), passes + row["strict"]
            if row[column] is None:
                unknown.add(cell)
    return {cell: tasks for cell, tasks in sums.items() if cell not in unknown}


def yields(answers: Answers) -> list[Row]:
    """Strict pass rate, pass@k and use per strict pass of each condition, with intervals over tasks."""
    passes: dict[str, dict[str, list[bool]]] = defaultdict(lambda: defaultdict(list))
    for row in answers("trials").records():
        if row["strict"] is not None:
            passes[row["condition"]][row["task"]].append(row["strict"])
    reasons = {
        (row["condition"], row["resource"]): row["yield_reason"]
        for row in answers("efficiency").records()
    }
    sums, k = task_sums(answers), int(query("pass_at_k").params["k"] or 0)
    rows: list[Row] = []
    for name in (row["condition"] for row in answers("outcomes").records()):
        strict = {task: sum(own) / len(own) for task, own in passes[name].items()}
        any_of = {  # chance that k of the trials hold a pass
            task: (1 - math.comb(len(own) - sum(own), k) / math.comb(len(own), k), 1.0)
            for task, own in passes[name].items()
            if len(own) >= k
        }
        for measure, rate, least in (
            ("strict pass rate", mean_rate(strict), MIN_TASKS),
            (f"pass@{k}", share(any_of), MIN_TASKS_SKEWED),
        ):
            value = None if rate.value is None else 100 * rate.value
            reason = None if rate.tasks else "no task has so many trials"
            rows.append((name, measure, "%", rate.tasks, value, reason, *ends(rate, least, 100)))  # fmt: skip
        for metric, (unit, _, resource) in COSTS.items():
            reason = reasons[name, resource]
            use = Estimate(None, None, len(passes[name])) if reason else per_pass(sums[name, metric])  # fmt: skip
            rows.append((name, f"{resource} per pass", unit, use.tasks, use.value, reason, *ends(use)))  # fmt: skip
    known = {row[1] for row in rows if row[4] is not None}
    return [row for row in rows if row[1] in known]


def gains(answers: Answers) -> Iterator[Row]:
    """Normalised gains, token overhead and cost efficiency of the contrast, with intervals over tasks."""
    gain, setup = answers.single("gain"), answers.single("setup")
    if not gain:
        return
    for outcome in ("strict_pass", "reward"):  # the question gain has the checks, with level=check
        arms: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
        for trial in outcome_trials(answers, outcome, setup["treatment"], setup["control"]):
            arms[trial.condition][trial.task].append(trial.value or 0.0)
        control, treatment = arms[setup["control"]], arms[setup["treatment"]]
        both = control.keys() & treatment.keys()
        before, after = ({task: fmean(arm[task]) for task in both} for arm in (control, treatment))
        made = normalised_gain(before, after)
        reason = None if made.value is not None else "nothing was left to gain"
        yield (f"normalised gain in {OUTCOMES[outcome]}", made.tasks, made.value, reason, *ends(made, MIN_TASKS))  # fmt: skip
    arms_tokens = measure_arms(answers, ["total_tokens"])["total_tokens"]
    shared = arms_tokens[0].keys() & arms_tokens[1].keys()
    used, used_before = ({task: (fmean(arm[task]), 1.0) for task in shared} for arm in arms_tokens)
    ratio = per_pass(used, used_before)
    value, held = ratio.value and ratio.value - 1, ratio.interval
    held = held and replace(held, low=held.low - 1, high=held.high - 1)
    overhead = Estimate(value, held, ratio.tasks)
    reason = None if overhead.value is not None else "no task has tokens in both arms"
    yield ("token overhead", overhead.tasks, overhead.value, reason, *ends(overhead, MIN_TASKS_SKEWED))  # fmt: skip
    value = gain["cost_efficiency"]
    no_interval = None if value is None else "no method holds 95 % where the overhead may be 0"
    yield ("cost efficiency", gain["tasks"], value, gain["cost_efficiency_reason"], None, no_interval, None)  # fmt: skip


EARNS, SHAM, ASLEEP, OPEN = (
    "earns its place", "no better than sham", "not activated", "undetermined",
)  # fmt: skip


def sections(answers: Answers) -> Iterator[Row]:
    """Section ablation: the whole Skill minus the arm without a section, paired by task, with a verdict.

    A section that no run was shown was not tested. It earns its place if the whole Skill is better by the
    adjusted p; it is no better than sham if the arms are equivalent, or the whole is worse.
    """
    setup = answers.single("setup")
    groups: dict[str, list[Record]] = defaultdict(list)
    for row in answers("section_runs").records():
        groups[row["condition"]].append(row)
    deltas = {
        name: outcome_contrast(answers, setup["primary_outcome"], rows[0]["whole"], name)
        for name, rows in groups.items()
    }
    shown = {name: sum(row["shown"] for row in rows) for name, rows in groups.items()}
    p_of = {name: largest_p(delta) if delta else None for name, delta in deltas.items()}
    tested = {name: p for name, p in p_of.items() if p is not None and shown[name]}
    adjusted = dict(zip(tested, holm([*tested.values()]), strict=True))
    for name, rows in groups.items():
        delta, p_holm, runs = deltas[name], adjusted.get(name), sum(row["runs"] for row in rows)
        used = [row["used_low"] for row in rows]
        tasks, earned = 0, OPEN
        word: VerdictWord = "undetermined"
        about: Row = (None, rows[0]["whole_reason"] or "no trial of both arms", None, None, None)
        if delta is not None:
            tasks, about = delta.tasks, difference(delta)
            word = adjusted_word(verdict(delta, setup["margin"]).word, p_holm)
        if delta is not None and runs and not shown[name] + sum(row["unplaced"] for row in rows):
            earned = ASLEEP
        elif word == "better":
            earned = EARNS
        elif word in {"equivalent", "worse"}:
            earned = SHAM
        yield (
            name, rows[0]["whole"], tasks, runs, shown[name] / runs if runs else None,
            sum(used) / runs if runs and None not in used else None, *about, p_of[name], p_holm, earned,
        )  # fmt: skip


# RQ3: the way of working

PROCESS = {
    "agent_steps": "steps",
    "skill_steps": "steps",
    "skill_step_share": "share",
    "fanout": "resources",
    "fanout_support": "resources",
    "resource_events": "uses",
    "return_visits": "resources",
    "unit_exposure_share": "share",
    "skill_bytes_shown": "bytes",
    "skill_tokens_shown": "tokens",
    "tokens_per_exposed_unit": "tokens",
}
"""Measures that are compared as differences, with their units."""


def contrasts(answers: Answers) -> list[Row]:
    """Treatment minus control in how agents worked, as paired means over tasks; with the measures of other
    packages, of which every one may be looked at."""
    rows: list[Row] = []
    foreign = [row for row in answers("metrics").records() if ":" in row["family"]]
    units = PROCESS | {
        row["metric"]: "pp" if row["unit"] == "flag" else row["unit"] for row in foreign
    }
    arms = measure_arms(answers, units)
    for metric, unit in units.items():
        treatment, control = arms[metric]
        delta = paired_delta(control, treatment, unit=unit)
        if treatment or control:
            counts = _trials(treatment, control, delta.dropped, delta.tasks)
            rows.append((
                metric, unit, *counts, delta.tasks, delta.delta, *ends(delta), flip_p(delta),
            ))  # fmt: skip
    rates = false_discovery_rates([row[-1] for row in rows])
    return [(*row, rate) for row, rate in zip(rows, rates, strict=True)]


def process_rates(answers: Answers) -> Iterator[Row]:
    """The rates of process, timing and uptake of each condition, with intervals over tasks."""
    cells: dict[Row, dict[str, tuple[float, float]]] = defaultdict(dict)
    for row in answers("task_rates").records():
        cell = row["condition"], row["measure"], row["judge"]
        cells[cell][row["task"]] = row["part"], row["whole"]
    for cell, sums in cells.items():
        if cell[1].startswith("yes uses"):  # a mean over trials; 0 has no interval
            unit, scale, rate = "uses", 1.0, per_pass(sums)
            rate = rate if rate.value is not None else Estimate(0.0, None, rate.tasks)
        else:
            unit, scale, rate = "%", 100.0, share(sums)
        value = None if rate.value is None else scale * rate.value
        yield (*cell, unit, rate.tasks, value, *ends(rate, MIN_TASKS, scale))


# RQ4: kinds of task

MIN_STRATUM = 8
"""Fewer tasks support no pattern: the smallest stratum that SJ selects (Table 18) has eight."""


def interactions(answers: Answers) -> list[Row]:
    """Whether the difference of strict pass rates differs between the values of an attribute."""
    groups: dict[str, dict[str, tuple[int, float, float]]] = defaultdict(dict)
    strata = answers("strata").records()
    mark = next((row[NOT_USABLE] for row in strata), None)  # of both arms: the same in every row
    for row in strata:  # the same for every judge
        group = row["tasks"], row["delta_pass"], row["sd_pass"] or 0.0
        groups[row["attribute"]][row["value"]] = group
    rows: list[Row] = []
    for attribute, values in groups.items():
        tasks = sum(size for size, _, _ in values.values())
        test = None if mark else anova(list(values.values()))
        flat = "no two values, or no variation between tasks of one value"
        reason = None if test else mark or flat
        rows.append((attribute, len(values), tasks, *(test or (None, None)), reason))
    adjusted = iter(holm([row[4] for row in rows if row[4] is not None]))
    return [(*row, None if row[4] is None else next(adjusted)) for row in rows]


def patterns(answers: Answers) -> Iterator[Row]:
    """How uptake and success move together in a kind of task (SJ Table 7); none if an arm is not whole.
    Rates move if their interval, at a level for the number of kinds (Bonferroni), excludes 0."""
    strata = answers("strata").records()
    kinds = {(row["attribute"], row["value"]) for row in strata if row["tasks"] >= MIN_STRATUM}
    level = 1 - ALPHA / max(1, len(kinds))
    for row in strata:
        few = row["tasks"] < MIN_STRATUM
        moves: dict[str, Interval | None] = {}
        rises, falls = set(), set()
        for what, size in (("pass", "tasks"), ("runtime", "tasks"), ("given", "tasks_given")):
            tasks, sd = row[size], row[f"sd_{what}"]
            known = tasks is not None and tasks >= MIN_STRATUM and sd is not None
            se = sd / math.sqrt(tasks) if known else None
            moves[what], adjusted = (
                rate_interval(row[f"delta_{what}"], se, (tasks or 0) - 1, one, lowest=-1.0)
                for one in (0.95, level)
            )
            rises |= {what} if adjusted and adjusted.low > 0 else set()
            falls |= {what} if adjusted and adjusted.high < 0 else set()
        uptake = row["delta_yes_low"] is not None and row["delta_yes_low"] > 0
        after, before = row["treatment_minutes_per_pass"], row["control_minutes_per_pass"]
        ratio = after / before if after is not None and before else None
        rules = {  # computed.yaml says what each pattern is; the first that holds
            "targeted efficiency": "pass" in rises and uptake and ratio is not None and ratio < 1,
            "fanout tax": "pass" in falls and ratio is not None and ratio > 1 and (row["delta_fanout"] or 0) > 0,
            "uptake without success": "pass" in falls and uptake,
            "completion with risk": "runtime" in rises and "given" in falls,
        }  # fmt: skip
        pattern = None if few else next((name for name, holds in rules.items() if holds), None)
        reason = row[NOT_USABLE] or (f"fewer than {MIN_STRATUM} tasks" if few else "undetermined")
        yield (
            row["attribute"], row["value"], row["judge"], row["tasks"], pattern, None if pattern else reason,
            row["delta_pass"], *low_high(moves["pass"]), row["delta_runtime"], *low_high(moves["runtime"]),
            row["delta_given"], *low_high(moves["given"]),
            row["delta_yes_low"], row["delta_yes_high"], row["delta_fanout"], ratio,
        )  # fmt: skip


# The judge card: how far judges may be trusted, and what remains of their rates

ALL_PEOPLE = "all people"


class ArmUses(Struct):
    """The labels of one judge and of people on the uses of one condition."""

    condition: str
    treated: bool | None
    """Whether it is the treatment; None where it is neither arm of the contrast."""
    cells: list[Record]
    """Rows of `judged_cells`."""
    labelled: list[Record]
    """Rows of `labelled_uses` that are in the sample."""

    @property
    def events(self) -> int:
        return sum(row["events"] for row in self.cells)

    @property
    def alone_reason(self) -> str | None:
        """Why the judge alone gives no one rate."""
        return "between_two_ends" if any(row["open"] for row in self.cells) else None

    @property
    def correction_reason(self) -> str | None:
        """Why its labels correct nothing."""
        if not self.labelled:
            return "no_labels"
        reached = math.fsum(row["weight"] for row in self.labelled)
        return None if math.isclose(reached, self.events, rel_tol=0.005) else "labels_do_not_reach_all"  # fmt: skip

    def within(self, tasks: Collection[str]) -> "ArmUses":
        """The same of these tasks alone."""
        cells, labelled = (
            [row for row in rows if row["task"] in tasks] for rows in (self.cells, self.labelled)
        )
        return ArmUses(self.condition, self.treated, cells, labelled)

    def items(self, people_unknown: str = "unknown") -> list[JudgedItem]:
        """For estimators: all uses, and the labelled ones again, with another label for uses that people
        could not decide about."""
        everything = [
            JudgedItem(row["task"], row["label"] or "unknown", stands_for=row["events"])
            for row in self.cells
        ]
        for row in self.labelled:
            person = people_unknown if row["person"] == "unknown" else row["person"]
            everything.append(JudgedItem(row["task"], row["label"], person, row["weight"], 0))
        return everything


def judged_arms(answers: Answers) -> dict[str, list[ArmUses]]:
    """Judge -> what was said of the uses of each condition."""
    arms: dict[tuple[str, str], ArmUses] = {}
    for row in answers("judged_cells").records():
        key = row["judge"], row["condition"]
        arms.setdefault(key, ArmUses(row["condition"], row["treated"], [], [])).cells.append(row)
    for row in answers("labelled_uses").records():
        if row["weight"] is not None:
            arms[row["judge"], row["condition"]].labelled.append(row)
    by_judge: dict[str, list[ArmUses]] = defaultdict(list)
    for (judge, _), arm in arms.items():
        by_judge[judge].append(arm)
    return dict(by_judge)


def uptake_rates(answers: Answers) -> Iterator[Row]:
    """The ERU rate of each condition by the judge alone, and corrected by people."""
    for judge, arms in judged_arms(answers).items():
        for arm in arms:
            if reason := arm.alone_reason:
                alone: Row = (None, reason, None, None)
            else:
                alone = _with_reason(judged_rate(arm.items()))
            if reason := arm.correction_reason:
                corrected: Row = (None, reason, None, None)
            else:
                corrected = _between(*(corrected_rate(arm.items(label)) for label in ("no", "yes")))
            tasks = len({row["task"] for row in arm.cells})
            yield (judge, arm.condition, tasks, arm.events, len(arm.labelled), *alone, *corrected)


def uptake_differences(answers: Answers) -> Iterator[Row]:
    """The ERU rate of the treatment minus that of the control over the tasks planned in both, by each judge
    alone and corrected."""
    planned: dict[str, set[str]] = defaultdict(set)
    for row in answers("contrast_trials").records():
        planned[row["task"]].add(row["condition"])
    both = {task for task, conditions in planned.items() if len(conditions) == 2}
    for judge, arms in judged_arms(answers).items():
        treatment = next((arm for arm in arms if arm.treated), None)
        control = next((arm for arm in arms if arm.treated is False), None)
        if treatment is None or control is None:
            continue
        lacking = [arm.correction_reason for arm in (control, treatment) if arm.correction_reason]
        some = bool(control.labelled or treatment.labelled)
        control, treatment = control.within(both), treatment.within(both)
        if reason := control.alone_reason or treatment.alone_reason:
            alone: Row = (None, reason, None, None)
        else:
            alone = _with_reason(judged_difference(control.items(), treatment.items()))
        yield (
            judge, f"{treatment.condition} minus {control.condition}",
            len({row["task"] for arm in (control, treatment) for row in arm.cells}),
            len(control.labelled) + len(treatment.labelled),
            *alone, *_corrected_difference(control, treatment, lacking, some=some),
        )  # fmt: skip


def _corrected_difference(
    control: ArmUses, treatment: ArmUses, lacking: list[str], *, some: bool
) -> Row:
    """With the smallest true difference that it would find in four of five repetitions; `lacking` says why
    labels of either arm correct nothing, `some` whether there are any."""
    if not lacking and not (control.labelled and treatment.labelled):
        lacking = ["no_labels"]  # of the tasks of both
    if lacking:
        one_arm = some and lacking[0] == "no_labels"
        reason = "labels_of_one_arm_only" if one_arm else lacking[0]
        return None, reason, None, None, None
    least = corrected_difference(control.items("yes"), treatment.items("no"))
    most = corrected_difference(control.items("no"), treatment.items("yes"))
    detectable = None
    if least.value == most.value and least.se is not None:
        detectable = detectable_effect(least.se * math.sqrt(least.clusters), least.clusters).effect
    return (*_between(least, most), detectable)


def _between(least: CorrectedRate, most: CorrectedRate) -> Row:
    """The estimate, or the ends of its interval where what people left open decides."""
    if least.value == most.value:
        return _with_reason(least)
    return None, "between_two_ends", low_high(least.interval)[0], low_high(most.interval)[1]


def _with_reason(rate: CorrectedRate) -> Row:
    reason = "nothing_decided" if rate.value is None else None
    return (rate.value, reason, *low_high(rate.interval))


def judge_accuracies(answers: Answers) -> Iterator[Row]:
    """Sensitivity, specificity and precision of each judge's yes, by people's labels."""
    for judge, arms in judged_arms(answers).items():
        known = {arm.condition: arm.labelled for arm in arms if arm.labelled}
        if len(known) > 1:
            known["all"] = [row for rows in known.values() for row in rows]
        for condition, rows in known.items():
            made = judge_accuracy([(row["label"], row["person"], row["weight"]) for row in rows])
            shares = (made.sensitivity, made.specificity, made.precision)
            ends_of = [end for one in shares for end in ((one.value, *low_high(one.interval)) if one else (None,) * 3)]  # fmt: skip
            yield (judge, condition, len(rows), made.undecided, *ends_of)


def rater_agreement(answers: Answers) -> Iterator[Row]:
    """Agreement of each judge with each person, of people, and of judges, tasks resampled; first
    Krippendorff's alpha of all people, if there are two or more."""
    uses = {row["event"]: row for row in answers("labelled_uses").records()}
    if len({name for row in uses.values() for name in row["reviewers"].split(", ")}) > 1:
        labels = [row["labels"].split() for row in uses.values()]
        alpha = krippendorff_alpha(labels, [row["task"] for row in uses.values()])
        ends_of = (alpha.alpha, *low_high(alpha.interval))
        yield (ALL_PEOPLE, "", alpha.items, alpha.clusters, *(None,) * 9, *ends_of)
    pairs: dict[tuple[str, str], list[Record]] = defaultdict(list)
    for row in answers("label_pairs").records():
        pairs[row["first"], row["second"]].append(row)
    for raters, rows in pairs.items():
        made = agreement_of(rows)
        yield (
            *raters, sum(row["events"] for row in rows), made.clusters,
            made.observed, *low_high(made.observed_interval),
            made.kappa, *low_high(made.kappa_interval),
            made.ac1, *low_high(made.ac1_interval), None, None, None,
        )  # fmt: skip


def agreement_of(rows: Sequence[Mapping[str, Any]]) -> Agreement:
    """Return the agreement of the two raters of rows of `label_pairs`."""
    columns = ("first_label", "second_label", "task", "weight")
    first, second, tasks, weights = ([row[name] for row in rows] for name in columns)
    return agreement(first, second, tasks, weights)


COMPUTED: dict[str, Callable[[Answers], Iterable[Row]]] = {
    "effect": effect,
    "ratios": ratios,
    "yields": yields,
    "gains": gains,
    "process_rates": process_rates,
    "contrasts": contrasts,
    "interactions": interactions,
    "patterns": patterns,
    "sections": sections,
    "uptake_rates": uptake_rates,
    "uptake_differences": uptake_differences,
    "judge_accuracy": judge_accuracies,
    "rater_agreement": rater_agreement,
}
"""Computed table -> its rows."""
