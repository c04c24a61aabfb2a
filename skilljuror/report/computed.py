"""Tables that need an estimator on top of SQL: contrasts of measures, paired by task."""

from collections.abc import Callable
from typing import Any, NamedTuple

from skilljuror.measures.stats.paired import (
    Arm,
    GeometricRatio,
    PairedDelta,
    geometric_ratio,
    paired_delta,
)
from skilljuror.measures.stats.power import false_discovery_rates, holm
from skilljuror.measures.stats.verdicts import verdict
from skilljuror.measures.stats.yields import per_pass
from skilljuror.report import judging
from skilljuror.report.ablation import SECTIONS, sections
from skilljuror.report.answers import Answers
from skilljuror.report.headline import outcome_contrast
from skilljuror.report.patterns import INTERACTIONS, PATTERNS, RULES, interactions, patterns
from skilljuror.report.rates import (
    COSTS,
    GAINS,
    PROCESS_RATES,
    SOURCE,
    YIELDS,
    difference,
    ends,
    flip_p,
    gains,
    largest_p,
    measure_arms,
    process_rates,
    task_sums,
    yields,
)  # fmt: skip
from skilljuror.report.usable import marked
from skilljuror.store.connect import QueryResult
from skilljuror.store.questions import NOT_USABLE, Query, meaning_of_mark, query

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

HEADLINE = "all"
"""The part that is the headline."""

_BY_TASK = {
    "tasks": "tasks with a value in both arms; the others are dropped from both",
    "treatment_trials": "trials of these tasks with a value, of all tasks if there is none; null is unknown and excluded, never counted as zero",
    "low": "lower end of the 95 % interval over tasks, Student's t",
    "low_reason": "why there is no interval",
    "high": "upper end of this interval",
}


_JACKKNIFE = "lower end of the 95 % interval, by a jackknife over tasks: of a rate's log odds, of the log of other numbers"


class ComputedTable(NamedTuple):
    """A table made from the answer of a question by an estimator."""

    question: str
    """What a person wants to know."""
    columns: tuple[str, ...]
    """Names of its columns."""
    read: str
    """How to read the numbers."""
    definitions: dict[str, str]
    """Meanings of columns."""
    make: Callable[[Answers], QueryResult]
    """Its rows."""
    source: str = SOURCE
    """The question that it starts from."""
    grain: str = "one row is one measure"
    """What one row is."""
    arms: tuple[str, ...] = ()
    """Columns that name the arms of a row, or "contrast"; () without figures of arms."""
    whole: tuple[str, ...] = ()
    """Columns that are null unless every planned trial of these arms is usable."""

    def rows(self, answers: Answers) -> QueryResult:
        """Return its rows; with `arms`, each with the mark of a question."""
        made = self.make(answers)
        return marked(answers, made, self.arms, self.whole) if self.arms else made


def answer(answers: Answers, name: str) -> QueryResult:
    """The rows of a computed table, or of a named question. Raises QueryError."""
    return answers.made(name, COMPUTED[name].rows) if name in COMPUTED else answers(name)


def documentation(name: str) -> Query:
    """What a question, or a computed table, says of itself; the SQL of a computed table is that of
    the question it starts from."""
    if name not in COMPUTED:
        return query(name)
    table = COMPUTED[name]
    mark = {NOT_USABLE: meaning_of_mark(table.whole)} if table.arms else {}
    return query(table.source)._replace(
        name=name,
        question=table.question,
        grain=table.grain,
        columns=(*table.columns, *mark),
        read=table.read,
        definitions=table.definitions | mark,
        whole=table.whole,
    )


def ratios(answers: Answers) -> QueryResult:
    """Treatment / control in time, tokens and cost, as ratios of geometric means over tasks."""
    rows = []
    setup, sums = answers.single("setup"), task_sums(answers)
    for metric, (unit, *_) in COSTS.items():
        treatment, control = measure_arms(answers, metric, " ".join(COSTS))
        paired = geometric_ratio(control, treatment)
        counts = (*_trials(treatment, control, paired), paired.tasks)
        one, other = (sums.get((setup[arm], metric), {}) for arm in ("treatment", "control"))
        both = sorted(one.keys() & other.keys())
        made = per_pass({task: one[task] for task in both}, {task: other[task] for task in both})
        own = (made.value, *ends(made.interval, made.tasks))
        row = (metric, unit, *counts, paired.ratio, *ends(paired.interval, paired.tasks), *own)
        if treatment or control:
            rows.append(row)
    return QueryResult(RATIOS, rows)


def contrasts(answers: Answers) -> QueryResult:
    """Treatment minus control in how agents worked, as paired means over tasks."""
    rows = []
    units = PROCESS | _of_other_packages(answers)
    for metric, unit in units.items():
        treatment, control = measure_arms(answers, metric, " ".join(units))
        paired = paired_delta(control, treatment, unit=unit)
        counts = (*_trials(treatment, control, paired), paired.tasks)
        row = (metric, unit, *counts, paired.delta, *ends(paired.t, paired.tasks))
        if treatment or control:
            rows.append((*row, flip_p(paired)))
    shares = false_discovery_rates([row[-1] for row in rows])
    return QueryResult(CONTRASTS, [(*row, share) for row, share in zip(rows, shares, strict=True)])


def effect(answers: Answers) -> QueryResult:
    """The parts of the difference between layouts, each as a paired mean over tasks with its verdict."""
    setup = answers.single("setup")
    rows: list[tuple[Any, ...]] = []
    for part in answers("effect_parts").records():
        arms = part["treatment"], part["control"]
        paired = outcome_contrast(answers, setup["primary_outcome"], *arms)
        if paired is None or not part["tasks"]:
            rows.append((
                part["part"],
                *arms,
                0,
                None,
                part["delta_rate_reason"],
                None,
                None,
                None,
                None,
                None,
            ))
            continue
        rows.append((
            part["part"], *arms, paired.tasks, *difference(paired),
            verdict(paired, setup["margin"]).word, largest_p(paired),
        ))  # fmt: skip
    parts = [row for row in rows if row[-1] is not None and row[0] != HEADLINE]
    adjusted = dict(zip((row[0] for row in parts), holm([row[-1] for row in parts]), strict=True))
    return QueryResult(EFFECT, [(*row[:-1], adjusted.get(row[0], row[-1])) for row in rows])


def _of_other_packages(answers: Answers) -> dict[str, str]:
    """Measure -> unit of metrics that no registry names: every one may be looked at."""
    units = {
        row["metric"]: row["unit"] for row in answers("metrics").records() if ":" in row["family"]
    }
    return {metric: "pp" if unit == "flag" else unit for metric, unit in units.items()}


def _trials(treatment: Arm, control: Arm, paired: PairedDelta | GeometricRatio) -> tuple[int, int]:
    """Trials of each arm with a value, of the tasks that enter; of all tasks if none does."""
    out = paired.dropped if paired.tasks else ()
    one, other = (
        sum(len(values) for task, values in arm.items() if task not in out)
        for arm in (treatment, control)
    )
    return one, other


RATIOS = (
    "measure", "unit", "treatment_trials", "control_trials", "tasks", "ratio", "low", "low_reason", "high",
    "per_pass_ratio", "per_pass_low", "per_pass_low_reason", "per_pass_high",
)  # fmt: skip
CONTRASTS = (
    "measure", "unit", "treatment_trials", "control_trials", "tasks", "difference", "low", "low_reason", "high",
    "p", "q",
)  # fmt: skip


EFFECT = (
    "part", "treatment", "control", "tasks", "delta_rate", "delta_rate_reason",
    "delta_low", "delta_low_reason", "delta_high", "verdict", "p_holm",
)  # fmt: skip


COMPUTED = {
    "effect": ComputedTable(
        "Where does the difference between the layouts come from?",
        EFFECT,
        "Executability, cues and disclosure add up to all if every arm has the same tasks. Each has its own "
        "interval: a part whose interval holds 0 is not shown to be there, nor to be absent. Of several parts, "
        "quote those with p_holm below 0.05.",
        {
            "part": "executability: files on disk instead of text to write out first; cues: the rows of pd as "
            "a table of contents; disclosure: prose in files that are opened on demand",
            "tasks": _BY_TASK["tasks"],
            "delta_rate": "mean over tasks of the treatment's primary outcome minus the control's",
            "delta_low": _BY_TASK["low"],
            "delta_low_reason": _BY_TASK["low_reason"],
            "verdict": "of the headline's kind, by the declared margin",
            "p_holm": "p by sign flips over tasks, the larger of with and without contaminated trials, adjusted by "
            "Holm's method for the number of parts; that of all, the headline, is not adjusted",
        },
        effect,
        "effect_parts",
        "one row is one part",
        ("treatment", "control"),
    ),
    "ratios": ComputedTable(
        "How much more time, tokens and money does the treatment take?",
        RATIOS,
        "A ratio of 1 means no difference, 1.20 a fifth more. Every task weighs the same, so one long "
        "task does not decide. If the interval includes 1, no difference is shown.",
        {
            "ratio": "exp of the mean over tasks of log(treatment mean / control mean)",
            **_BY_TASK,
            "per_pass_ratio": "use per strict pass of the treatment / that of the control, over the tasks of both; "
            "failed attempts count, and a long task weighs more. Null unless every planned trial was measured",
            "per_pass_low": "lower end of its 95 % interval, by a jackknife over tasks",
        },
        ratios,
        arms=("contrast",),
        whole=("per_pass_ratio", "per_pass_low", "per_pass_high"),
    ),
    "yields": ComputedTable(
        "How often does each condition pass, and what does a pass cost?",
        YIELDS,
        "The interval is for other tasks like these. Two intervals that overlap do not show that two "
        "conditions are alike: the difference has an interval of its own, paired by task.",
        {
            "value": "mean over tasks of the strict passes / planned trials; of the probability of a pass in k of them; "
            "use of all attempts / strict passes. A measure without a value in any condition is left out: "
            "`efficiency` says why",
            "value_reason": "why there is no value",
            "low": _JACKKNIFE,
            "low_reason": _BY_TASK["low_reason"],
            "high": "upper end of this interval",
        },
        yields,
        "trials",
        "one row is one condition and measure",
        ("condition",),
        ("value", "low", "high"),
    ),
    "gains": ComputedTable(
        "How much of what was left did the treatment gain, and at what overhead?",
        GAINS,
        "For comparison with benchmarks that print these numbers. Cost efficiency ranks nothing: worse and "
        "cheaper is positive too.",
        {
            "value": "gain: (treatment - control) / (1 - control); overhead: (treatment - control) / control of mean "
            "total tokens; efficiency: difference of strict pass rates / overhead",
            "low": "lower end of the 95 % interval, by a jackknife over tasks; of the overhead on the log scale",
            "low_reason": _BY_TASK["low_reason"],
        },
        gains,
        "gain",
        "one row is one number",
        ("contrast",),
        ("value", "low", "high"),
    ),
    "process_rates": ComputedTable(
        "How sure are the rates of process, timing and uptake?",
        PROCESS_RATES,
        "The numbers of `process`, `timing` and `uptake`, each with its interval for other tasks like these.",
        {
            "measure": "support read, script run, helper used: share of trials; skill step share: mean over trials; "
            "early, middle, late: share of the Skill-related steps; distributed: share of the trials with such a "
            "step; yes uses: mean over trials, open uses as no (low) or as yes (high)",
            "tasks": "tasks with a trial that counts",
            "low": _JACKKNIFE,
            "low_reason": _BY_TASK["low_reason"],
        },
        process_rates,
        "task_rates",
        "one row is one condition, measure and judge",
        ("condition",),
    ),
    "contrasts": ComputedTable(
        "By how much does the way of working differ, task by task?",
        CONTRASTS,
        "If the interval includes 0, no difference is shown. So many measures are compared that some interval "
        "excludes 0 by chance in far more than one study of twenty: follow up those with q below 0.05.",
        {
            "difference": "mean over tasks of (treatment mean - control mean), in the row's unit",
            **_BY_TASK,
            "p": "by sign flips over tasks; null without a task",
            "q": "share of false discoveries among the rows with a q as small (Benjamini and Hochberg)",
        },
        contrasts,
        arms=("contrast",),
    ),
    "interactions": ComputedTable(
        "Does the effect of the layout differ between kinds of task?",
        INTERACTIONS,
        "Ask this first: if p_holm is not below 0.05, the kinds below are not shown to differ.",
        {
            "values": "values of the attribute",
            "f": "variance of the difference in strict pass rate between values / within them (one-way ANOVA)",
            "p": "of the hypothesis that the difference is the same for all values",
            "p_reason": "reason for a missing p",
            "p_holm": "p adjusted by Holm's method for the number of attributes",
        },
        interactions,
        "strata",
        "one row is one attribute of tasks",
        ("contrast",),
    ),
    "patterns": ComputedTable(
        "Where does more uptake go with more success, and where not?",
        PATTERNS,
        "A pattern describes a kind of task; it is no effect of uptake. Of many kinds, some show one by chance.",
        {
            "pattern": RULES,
            "pattern_reason": "reason for a missing pattern",
            "delta_pass": "mean over tasks of the difference of strict pass rates",
            "delta_low": "lower end of its 95 % interval over tasks, Student's t; null for fewer than 8 tasks",
            "delta_runtime": "the same of runtime success rates",
            "runtime_low": "lower end of its interval",
            "delta_given": "the same of strict passes / runtime successes, over the tasks with such a success in both "
            "arms",
            "given_low": "lower end of its interval",
            "delta_yes_low": "uses taken up per run, treatment minus control, counting only open uses of the "
            "control as yes",
            "minutes_per_pass_ratio": "minutes per strict pass, treatment / control",
        },
        patterns,
        "strata",
        "one row is one value of a task attribute, and one judge",
        ("contrast",),
    ),
    "sections": ComputedTable(
        "Which sections of the Skill earn their place?",
        SECTIONS,
        "The whole Skill minus an arm in which the section says something irrelevant of the same length.",
        {
            "condition": "arm without the section",
            "whole": "arm with the whole Skill",
            "runs": "runs of the arm with the whole Skill whose log could be read",
            "shown_rate": "share of these that were shown any of the section",
            "used_rate_low": "share in which a line of it proves a use; null unless every use is judged",
            "delta_rate": "strict pass rate (or mean reward) of the whole Skill minus that without the section",
            "delta_low": "lower end of the 95 % interval over tasks, Student's t",
            "p": "by sign flips over tasks",
            "p_holm": "p adjusted by Holm's method for the number of sections that runs were shown",
            "verdict": "earns its place: better, and p_holm below 0.05. no better than sham: equivalent within "
            "the declared margin, or worse. not activated: no run was shown it. undetermined: none of these",
        },
        sections,
        "section_runs",
        "one row is one arm without a section",
        ("condition", "whole"),
    ),
    "uptake_rates": ComputedTable(
        "What is the uptake rate of each condition, corrected for the judge's errors?",
        judging.RATES,
        "The judge's own rate includes its errors. The corrected rate removes the errors that people's labels "
        "of a random sample show: quote this one. The adjusted rate assumes the same errors in all conditions.",
        {
            "labels": "uses of the sample that people labelled",
            "judge_rate": "yes / (yes + no) by the judge alone; null if uses are open (shown, but "
            "undecided)",
            "judge_rate_low": "lower end of the 95 % interval over tasks, and over repeated answers of a "
            "model",
            "judge_rate_high": "upper end of this interval",
            "corrected_rate": "prediction-powered (PPI++), tasks as clusters; null without labels for every "
            "answer of the judge, and if people left a use open: the interval then includes both answers",
            "adjusted_rate": "Rogan and Gladen's, with sensitivity and specificity of all conditions; null "
            "if people left any use of the sample open",
            "adjusted_rate_low": "lower end of Lang and Reiczigel's 95 % interval, which assumes independent "
            "uses",
        },
        judging.uptake_rates,
        "judged_cells",
        "one row is one judge and condition",
        ("condition",),
        tuple(name for name in judging.RATES[5:] if not name.endswith("_reason")),
    ),
    "uptake_differences": ComputedTable(
        "Does uptake differ between the conditions, corrected for the judge's errors?",
        judging.DIFFERENCES,
        "A judge that misses more in one layout mimics an effect. So each condition is corrected by its own "
        "labels; both need some.",
        {
            "delta_judge": "rate of the treatment minus that of the control by the judge alone, in points",
            "delta_judge_low": "lower end of the 95 % interval over tasks, paired",
            "delta_corrected": "the same, each rate corrected by people's labels (PPI++)",
            "delta_corrected_low": "lower end of its 95 % interval, paired by task",
            "delta_detectable": "true difference that would be found in 4 of 5 repetitions with these tasks "
            "and labels",
        },
        judging.uptake_differences,
        "judged_cells",
        "one row is one judge",
        ("contrast",),
        tuple(name for name in judging.DIFFERENCES[4:] if not name.endswith("_reason")),
    ),
    "judge_accuracy": ComputedTable(
        "How often is a judge's yes right, and how many does it miss?",
        judging.ACCURACY,
        "A label is weighted by 1 / the probability that its use was sampled.",
        {
            "left_open": "labels that are neither yes nor no, excluded",
            "sensitivity_share": "of what people call yes, the share that the judge calls yes",
            "sensitivity_share_low": "lower end of Wilson's 95 % interval at the effective number of labels",
            "specificity_share": "of what people call no, the share that the judge does not call yes",
            "precision_share": "of the judge's yes, the share that people call yes",
        },
        judging.accuracy_table,
        "labelled_uses",
        "one row is one judge and condition, or all of them",
    ),
    "rater_agreement": ComputedTable(
        "How far do judges and people agree?",
        judging.AGREEMENT,
        "Kappa is low if one label is rare; AC1 is not. Alpha covers all people together.",
        {
            "first": "a judge, or a person",
            "events": "uses that both labelled; between judges, without verdicts that a cascade copied",
            "agreed_share": "share of equal labels; with a person, weighted by 1 / sampling probability",
            "agreed_share_low": "lower end of the 95 % interval, whole tasks resampled (seed 0)",
            "kappa": "Cohen's",
            "ac1": "Gwet's",
            "alpha": "Krippendorff's, nominal",
        },
        judging.agreement_table,
        "label_pairs",
        "one row is one pair of raters",
    ),
}
"""Computed tables by name."""
