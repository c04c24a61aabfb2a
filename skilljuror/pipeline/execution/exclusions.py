"""Tasks that a study leaves out by rule, before any trial: its own builds decide."""

from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from typing import Literal

from msgspec import structs

from skilljuror.errors import StudyError
from skilljuror.files import StudyFolder, read_record
from skilljuror.models.build import VariantManifest
from skilljuror.models.study import Condition, ExcludedTask, ExclusionRules, PlannedTask, StudyPlan
from skilljuror.pipeline.execution.kept_plan import refuse_other_content
from skilljuror.pipeline.execution.study_run import StudyRun
from skilljuror.studies.plan import freeze

TOO_LONG, LITTLE_TO_OPEN = "over the token limit", "little to open on demand"
"""Categories of the two rules."""


def check_rules(rules: ExclusionRules, conditions: Collection[Condition]) -> None:
    """Raise StudyError for a rule that no build of the study can decide."""
    if rules.pd_worth and not any(arm.variant == "pd" for arm in conditions):
        raise StudyError(
            "exclude_rules.pd_worth: no condition offers the variant pd, whose build decides; take the"
            " rule out",
            field="exclude_rules.pd_worth",
        )
    if rules.max_tokens and not any(arm.offers for arm in conditions):
        raise StudyError(
            "exclude_rules.max_tokens: no condition offers a Skill; take the rule out",
            field="exclude_rules.max_tokens",
        )


def decided(folder: StudyFolder, rules: ExclusionRules) -> tuple[ExcludedTask, ...]:
    """The tasks that the rules left out of a study that has begun: they are asked no second time."""
    if not (folder.planned and folder.finished_trials()):
        return ()
    plan = read_record(StudyPlan, folder.plan_file)
    same = plan.config.exclude_rules == rules
    return tuple(one for one in plan.excluded if same and one.decided_by != "person")


def undecided(rules: ExclusionRules) -> Iterator[str]:
    """A note on rules of a study that has not begun: they wait for its builds."""
    if rules != ExclusionRules():
        yield "tasks that exclude_rules leave out are known once the variants are built"


def without_ruled_out(run: StudyRun, study_file: Path) -> StudyRun:
    """A run without the tasks that the study's rules leave out; makes its builds, which decide. One that
    has begun is taken as it is.

    Raises StudyError for a folder that holds anything else, and where no task is left.
    """
    folder, plan = run.folder, run.plan
    if plan.config.exclude_rules == ExclusionRules() or folder.finished_trials():
        return run
    if not folder.plan_file.exists():
        refuse_other_content(folder, study_file)
    run.builds.make(plan.tasks)
    offered = [
        (task, [*run.builds.made(task).values(), *run.given.keep(folder, task).values()])
        for task in plan.tasks
    ]
    excluded = tuple(ruled_out(plan.config.exclude_rules, offered))
    left = freeze(plan.config, run.base, plan.format_version, run.given, excluded)
    return structs.replace(run, plan=left.model_copy(update={"agent_digest": plan.agent_digest}))


def ruled_out(
    rules: ExclusionRules, offered: Iterable[tuple[PlannedTask, Collection[VariantManifest]]]
) -> Iterator[ExcludedTask]:
    """The tasks that the rules leave out, each by the first that does, from what the conditions offer
    for every task."""
    for task, manifests in offered:
        longest = max(manifests, key=lambda one: (one.tokens, one.variant), default=None)
        if rules.max_tokens and longest and longest.tokens > rules.max_tokens:
            why = f"{longest.variant} holds {longest.tokens} tokens, more than {rules.max_tokens}"
            yield _excluded(task, TOO_LONG, why, "max_tokens")
        elif rules.pd_worth and any(one.pd_worth == rules.pd_worth for one in manifests):
            why = "its root is short, and no file that it opens on demand is long"
            yield _excluded(task, LITTLE_TO_OPEN, why, "pd_worth")


def _excluded(
    task: PlannedTask, category: str, reason: str, decided_by: Literal["max_tokens", "pd_worth"]
) -> ExcludedTask:
    return ExcludedTask(
        name=task.name, path=task.path, category=category, reason=reason, decided_by=decided_by
    )
