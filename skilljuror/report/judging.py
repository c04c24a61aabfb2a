"""Tables of the judge card: how far judges may be trusted, and what remains of their rates."""

import math
from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from skilljuror.measures.stats.agreement import agreement, krippendorff_alpha
from skilljuror.measures.stats.intervals import Interval
from skilljuror.measures.stats.judge_accuracy import (
    Accuracy,
    CheckedItem,
    CorrectedShare,
    Share,
    judge_accuracy,
    rogan_gladen,
)
from skilljuror.measures.stats.power import detectable_effect
from skilljuror.measures.stats.prediction_powered import (
    CorrectedRate,
    JudgedItem,
    corrected_difference,
    corrected_rate,
    judged_difference,
    judged_rate,
)
from skilljuror.report.answers import Answers
from skilljuror.store.questions.run import QueryResult

Row = tuple[Any, ...]
Three = tuple[float | None, float | None, float | None]

RATES = (
    "judge", "condition", "tasks", "events", "labels",
    "judge_rate", "judge_rate_reason", "judge_rate_low", "judge_rate_high",
    "corrected_rate", "corrected_rate_reason", "corrected_rate_low", "corrected_rate_high",
    "adjusted_rate", "adjusted_rate_reason", "adjusted_rate_low", "adjusted_rate_high",
)  # fmt: skip
DIFFERENCES = (
    "judge", "contrast", "tasks", "labels",
    "delta_judge", "delta_judge_reason", "delta_judge_low", "delta_judge_high",
    "delta_corrected", "delta_corrected_reason", "delta_corrected_low", "delta_corrected_high",
    "delta_detectable",
)  # fmt: skip
ACCURACY = (
    "judge", "condition", "labels", "left_open",
    *(
        f"{name}{end}"
        for name in ("sensitivity_share", "specificity_share", "precision_share")
        for end in ("", "_low", "_high")
    ),
)  # fmt: skip
AGREEMENT = (
    "first", "second", "events", "tasks", "agreed_share", "agreed_share_low", "agreed_share_high",
    "kappa", "kappa_low", "kappa_high", "ac1", "ac1_low", "ac1_high",
    "alpha", "alpha_low", "alpha_high",
)  # fmt: skip
ALL_PEOPLE = "all people"


@dataclass
class ArmUses:
    """The labels of one judge and of people on the uses of one condition."""

    condition: str
    """The condition."""
    treated: bool | None
    """Whether it is the treatment; None where it is neither arm of the contrast."""
    cells: list[dict[str, Any]] = field(default_factory=list)
    """Rows of `judged_cells`."""
    labelled: list[dict[str, Any]] = field(default_factory=list)
    """Rows of `labelled_uses` that are in the sample."""

    @property
    def events(self) -> int:
        """Uses."""
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
        return (
            None if math.isclose(reached, self.events, rel_tol=0.005) else "labels_do_not_reach_all"
        )

    def within(self, tasks: Collection[str]) -> "ArmUses":
        """The same of these tasks alone."""
        cells, labelled = (
            [row for row in rows if row["task"] in tasks] for rows in (self.cells, self.labelled)
        )
        return replace(self, cells=cells, labelled=labelled)

    def items(self, people_unknown: str = "unknown") -> list[JudgedItem]:
        """For estimators: all uses, and the labelled ones again, with another label for uses that people
        could not decide about."""
        everything = [
            JudgedItem(row["task"], row["label"] or "unknown", stands_for=row["events"])
            for row in self.cells
        ]
        checked = [
            JudgedItem(
                row["task"],
                row["label"],
                people_unknown if row["person"] == "unknown" else row["person"],
                row["weight"],
                stands_for=0,
            )
            for row in self.labelled
        ]
        return everything + checked

    def checked(self) -> list[CheckedItem]:
        """For estimators: the labelled uses."""
        return [CheckedItem(row["label"], row["person"], row["weight"]) for row in self.labelled]


def judged_arms(answers: Answers) -> dict[str, list[ArmUses]]:
    """Judge -> what was said of the uses of each condition."""
    arms: dict[tuple[str, str], ArmUses] = {}
    for row in answers("judged_cells").records():
        key = row["judge"], row["condition"]
        arms.setdefault(key, ArmUses(row["condition"], row["treated"])).cells.append(row)
    for row in answers("labelled_uses").records():
        if row["weight"] is not None:
            arms[row["judge"], row["condition"]].labelled.append(row)
    by_judge: dict[str, list[ArmUses]] = defaultdict(list)
    for (judge, _), arm in arms.items():
        by_judge[judge].append(arm)
    return dict(by_judge)


def uptake_rates(answers: Answers) -> QueryResult:
    """The ERU rate of each condition by the judge alone, corrected by people, and by Rogan and Gladen."""
    rows = []
    for judge, arms in judged_arms(answers).items():
        accuracy = judge_accuracy([item for arm in arms for item in arm.checked()])
        for arm in arms:
            tasks = len({row["task"] for row in arm.cells})
            adjusted = rogan_gladen(
                sum(row["events"] for row in arm.cells if row["label"] == "yes"), arm.events,
                accuracy.sensitivity, accuracy.specificity,
            )  # fmt: skip
            rows.append((
                judge, arm.condition, tasks, arm.events, len(arm.labelled),
                *_alone(arm), *_corrected(arm), *_adjusted(adjusted, arm, accuracy),
            ))  # fmt: skip
    return QueryResult(RATES, rows)


def _alone(arm: ArmUses) -> Row:
    if reason := arm.alone_reason:
        return None, reason, None, None
    made = judged_rate(arm.items())
    return _with_reason(made.value, made.interval, "nothing_decided")


def _corrected(arm: ArmUses) -> Row:
    if reason := arm.correction_reason:
        return None, reason, None, None
    return _between(*(corrected_rate(arm.items(label)) for label in ("no", "yes")))


def _between(least: CorrectedRate, most: CorrectedRate) -> Row:
    """The estimate, or the ends of its interval where what people left open decides."""
    if least.value == most.value:
        return _with_reason(least.value, least.interval, "nothing_decided")
    low, high = _ends(least.interval)[0], _ends(most.interval)[1]
    return None, "between_two_ends", low, high


def _adjusted(made: CorrectedShare, arm: ArmUses, accuracy: Accuracy) -> Row:
    """None where people left uses open: the judge's share is of all, its accuracy of the others."""
    if accuracy.undecided:
        return None, "people_left_open", None, None
    reason = "tells_nothing" if arm.labelled else "no_labels"
    return _with_reason(made.value, made.interval, reason)


def _with_reason(value: float | None, interval: Interval | None, reason: str) -> Row:
    return (value, reason if value is None else None, *_ends(interval))


def _ends(interval: Interval | None) -> tuple[float | None, float | None]:
    return (interval.low, interval.high) if interval else (None, None)


def uptake_differences(answers: Answers) -> QueryResult:
    """The ERU rate of the treatment minus that of the control over the tasks planned in both, by each judge
    alone and corrected."""
    rows: list[Row] = []
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
        tasks = len({row["task"] for arm in (control, treatment) for row in arm.cells})
        rows.append((
            judge, f"{treatment.condition} minus {control.condition}", tasks,
            len(control.labelled) + len(treatment.labelled),
            *_alone_difference(control, treatment),
            *_corrected_difference(control, treatment, lacking, some=some),
        ))  # fmt: skip
    return QueryResult(DIFFERENCES, rows)


def _alone_difference(control: ArmUses, treatment: ArmUses) -> Row:
    if reason := control.alone_reason or treatment.alone_reason:
        return None, reason, None, None
    made = judged_difference(control.items(), treatment.items())
    return _with_reason(made.value, made.interval, "nothing_decided")


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
    seen = None
    if least.value == most.value and least.se is not None:
        seen = detectable_effect(least.se * math.sqrt(least.clusters), least.clusters).effect
    return (*_between(least, most), seen)


def accuracy_table(answers: Answers) -> QueryResult:
    """Sensitivity, specificity and precision of each judge's yes, by people's labels."""
    rows = []
    for judge, arms in judged_arms(answers).items():
        known = [arm for arm in arms if arm.labelled]
        parts = [(arm.condition, arm.checked()) for arm in known]
        if len(known) > 1:
            parts.append(("all", [item for arm in known for item in arm.checked()]))
        for condition, items in parts:
            made = judge_accuracy(items)
            shares = (made.sensitivity, made.specificity, made.precision)
            ends = [number for share in shares for number in _share(share)]
            rows.append((judge, condition, len(items), made.undecided, *ends))
    return QueryResult(ACCURACY, rows)


def _share(share: Share | None) -> Three:
    return (share.value, share.interval.low, share.interval.high) if share else (None, None, None)


def agreement_table(answers: Answers) -> QueryResult:
    """Agreement of each judge with each person, of people, and of judges, tasks resampled."""
    pairs: dict[tuple[str, str], list[dict[str, Any]]] = defaultdict(list)
    for row in answers("label_pairs").records():
        pairs[row["first"], row["second"]].append(row)
    rows = [
        (*raters, sum(row["events"] for row in own), *_agreed(own), None, None, None)
        for raters, own in pairs.items()
    ]
    if (together := _alpha(answers)) is not None:
        rows.insert(0, together)
    return QueryResult(AGREEMENT, rows)


def _agreed(rows: Sequence[dict[str, Any]]) -> Row:
    made = agreement(
        [row["first_label"] for row in rows], [row["second_label"] for row in rows],
        [row["task"] for row in rows], [row["weight"] for row in rows],
    )  # fmt: skip
    return (
        made.clusters,
        made.observed, *_ends(made.observed_interval),
        made.kappa, *_ends(made.kappa_interval),
        made.ac1, *_ends(made.ac1_interval),
    )  # fmt: skip


def _alpha(answers: Answers) -> Row | None:
    """Krippendorff's alpha of all people; None for fewer than two."""
    uses = {row["event"]: row for row in answers("labelled_uses").records()}
    if len(_names(row["reviewers"] for row in uses.values())) < 2:
        return None
    labels = [row["labels"].split() for row in uses.values()]
    made = krippendorff_alpha(labels, [row["task"] for row in uses.values()])
    nothing = (None,) * 9
    return (ALL_PEOPLE, "", made.items, made.clusters, *nothing, made.alpha, *_ends(made.interval))


def _names(lists: Iterable[str]) -> set[str]:
    return {name for listed in lists for name in listed.split(", ")}
