"""Exclude tasks by the study's rules before any trial, based on its builds."""

from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from typing import Literal

from msgspec import structs

from skilljuror.base.build import PdWorth, VariantManifest
from skilljuror.base.errors import ModelError, StudyError
from skilljuror.base.files import StudyFolder, read_record
from skilljuror.base.study import Condition, ExcludedTask, ExclusionRules, PlannedTask, StudyPlan
from skilljuror.study.plan import freeze
from skilljuror.study.saved_plan import refuse_other_content
from skilljuror.study.study_builds import StudyRun

TOO_LONG, LITTLE_TO_OPEN = "over the token limit", "little to open on demand"
WHY: dict[PdWorth, str] = {
    "none": "nothing in it can be opened on demand",
    "small": "its root and all files opened on demand are short",
}
NO_BUILD = "no usable answer of a model"


def check_rules(rules: ExclusionRules, conditions: Collection[Condition]) -> None:
    """Raise StudyError for a rule that the study's builds cannot decide."""
    if rules.pd_worth and not any(arm.variant == "pd" for arm in conditions):
        raise StudyError(
            "exclude_rules.pd_worth: requires a condition with the variant pd; remove the rule",
            field="exclude_rules.pd_worth",
        )
    if rules.max_tokens and not any(arm.offers for arm in conditions):
        raise StudyError(
            "exclude_rules.max_tokens: requires a condition with a Skill; remove the rule",
            field="exclude_rules.max_tokens",
        )


def decided(folder: StudyFolder, rules: ExclusionRules) -> tuple[ExcludedTask, ...]:
    """Tasks already excluded by these rules in a started study."""
    if not (folder.planned and folder.finished_trials()):
        return ()
    plan = read_record(StudyPlan, folder.plan_file)
    same = plan.config.exclude_rules == rules
    return tuple(one for one in plan.excluded if same and one.decided_by != "person")


def undecided(rules: ExclusionRules) -> Iterator[str]:
    """Note rules that require the builds of a study that has not started."""
    if rules != ExclusionRules():
        yield "exclude_rules apply after the variants are built"


def without_ruled_out(run: StudyRun, study_file: Path) -> StudyRun:
    """Make the builds and remove tasks excluded by rule or without a model's variants from the run; a
    started study stays unchanged.

    Raises StudyError for a folder with other content, ModelError if no task could be built.
    """
    folder, plan = run.folder, run.plan
    nothing_decides = (
        plan.config.exclude_rules == ExclusionRules() and run.builds.choice.engine == "plan"
    )
    if nothing_decides or folder.finished_trials():
        return run
    if not folder.plan_file.exists():
        refuse_other_content(folder, study_file)
    failed = run.builds.make(plan.tasks)
    offered = [
        (task, [*run.builds.made(task).values(), *run.given.save(folder, task).values()])
        for task in plan.tasks
        if task.name not in failed
    ]
    excluded = (
        *(
            _excluded(task, NO_BUILD, failed[task.name], "build")
            for task in plan.tasks
            if task.name in failed
        ),
        *ruled_out(plan.config.exclude_rules, offered),
    )
    if len(failed) == len(plan.tasks):
        raise ModelError(f"no task of the study could be built: {excluded[0].reason}")
    left = freeze(plan.config, run.base, run.given, excluded)
    return structs.replace(run, plan=left.model_copy(update={"agent_digest": plan.agent_digest}))


def ruled_out(
    rules: ExclusionRules, offered: Iterable[tuple[PlannedTask, Collection[VariantManifest]]]
) -> Iterator[ExcludedTask]:
    """Yield the excluded tasks, each by its first matching rule, from (task, offered manifests)."""
    for task, manifests in offered:
        longest = max(manifests, key=lambda one: (one.tokens, one.variant), default=None)
        if rules.max_tokens and longest and longest.tokens > rules.max_tokens:
            why = f"{longest.variant} has {longest.tokens} tokens, more than {rules.max_tokens}"
            yield _excluded(task, TOO_LONG, why, "max_tokens")
        elif worth := _too_little(rules.pd_worth, manifests):
            why = WHY[worth]
            yield _excluded(task, LITTLE_TO_OPEN, why, "pd_worth")


def _too_little(rule: PdWorth | None, manifests: Iterable[VariantManifest]) -> PdWorth | None:
    """The worth of a `pd` that a rule excludes; "small" excludes "none" too."""
    excluded = {"none": ("none",), "small": ("none", "small")}.get(rule or "", ())
    return next((one.pd_worth for one in manifests if one.pd_worth in excluded), None)


def _excluded(
    task: PlannedTask,
    category: str,
    reason: str,
    decided_by: Literal["max_tokens", "pd_worth", "build"],
) -> ExcludedTask:
    return ExcludedTask(
        name=task.name, path=task.path, category=category, reason=reason, decided_by=decided_by
    )
