"""Leaks of the Skills that a study offers, from its saved fingerprints, and people's waivers of them."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec import Struct

from skilljuror.base.build import LEAK_RULE, Finding
from skilljuror.base.errors import GateError
from skilljuror.base.files import StudyFolder, read_record, read_rows
from skilljuror.base.review import Waiver
from skilljuror.base.review_rows import rows_of
from skilljuror.base.skill import is_licence
from skilljuror.base.study import Condition, PlannedTask, StudyPlan, arm_at, trial_arms
from skilljuror.base.texts import Fingerprints
from skilljuror.harness.skill_leaks import LeakVerdict, finding_id, verdict_of
from skilljuror.layouts.build.protected_texts import FOLDERS, ProtectedText, fingerprints_of

Rows = Sequence[ProtectedText]


class StudyLeak(Struct, frozen=True):
    """A row of `skill_leaks`: a task and a condition that offers a Skill."""

    task: str
    condition: str
    verdict: LeakVerdict
    runs: int | None
    null_runs: int | None
    null_task: str | None
    skill_files: tuple[str, ...]
    task_files: tuple[str, ...]
    finding: str | None
    waived: str | None = None

    @property
    def blocks(self) -> bool:
        """Whether it failed and no person accepts it."""
        return self.verdict == "fail" and self.waived is None

    def as_finding(self) -> Finding:
        """The leak as a finding for a waiver."""
        return Finding(
            rule=LEAK_RULE,
            severity="high" if self.verdict == "fail" else "medium",
            file=self.skill_files[0],
            message=f"{self.runs} runs of words of {self.task_files[0]} are in the Skill",
        )


def study_leaks(study: StudyFolder) -> list[StudyLeak]:
    """Judge the Skills of a study, in the order of tasks and conditions; none for a task without
    fingerprints."""
    if not study.planned:
        return []
    plan = read_record(StudyPlan, study.plan_file)
    files = {task.name: fingerprints_of(study.root, task.name) for task in plan.tasks}
    texts = {
        name: list(read_rows(ProtectedText, path)) for name, path in files.items() if path.is_file()
    }
    waivers = {row.finding: row for row in rows_of(Waiver, study.reviews)}
    return list(_leaks(plan, texts, waivers))


def _leaks(
    plan: StudyPlan, texts: Mapping[str, Rows], waivers: Mapping[str, Waiver]
) -> Iterator[StudyLeak]:
    arms = {arm.name: arm for arm in plan.config.conditions}
    cells = {(one.task, arm_at(arms[one.condition], one.number).name) for one in plan.trials}
    tasks = [task for task in plan.tasks if task.name in texts]
    secrets = {task.name: _digests(_hidden(texts[task.name])) for task in tasks}
    for task in tasks:
        for arm in trial_arms(plan.config):
            if arm.offers and (task.name, arm.name) in cells:
                others = {
                    other.name: secrets[other.name]
                    for other in tasks
                    if secrets[other.name] and _skill(other, arm) != _skill(task, arm)
                }
                yield _leak(task.name, arm, texts[task.name], others, waivers)


def _skill(task: PlannedTask, arm: Condition) -> str | None:
    """Digest of the Skill; other tasks with the same one are no null."""
    given = task.given.get(arm.name)
    return (given.tree_digest if given else None) if arm.skill else task.source_digest


def _hidden(rows: Rows) -> list[ProtectedText]:
    return [row for row in rows if row.kind in FOLDERS]


def _digests(rows: Iterable[ProtectedText]) -> frozenset[int]:
    return Fingerprints.union(row.prints for row in rows).digests


def _offered(rows: Rows, arm: Condition) -> list[ProtectedText]:
    """The Skill's files without licences; of a variant, without the parts that it lacks."""
    lacking = _digests(row for row in rows if arm.variant and row.lacked_by == arm.variant)
    return [
        ProtectedText(row.kind, row.source, row.prints.without(lacking))
        for row in rows
        if row.kind == "skill" and row.lacked_by is None and not is_licence(row.source)
        if row.variant == (arm.name if arm.skill else None)
    ]


def _leak(
    task: str,
    arm: Condition,
    rows: Rows,
    others: Mapping[str, frozenset[int]],
    waivers: Mapping[str, Waiver],
) -> StudyLeak:
    offered, hidden = _offered(rows, arm), _hidden(rows)
    skill = _digests(offered)
    if not offered or not hidden:
        return StudyLeak(task, arm.name, "unknown", None, None, None, (), (), None)
    leaked = skill & _digests(hidden)
    null = {name: len(skill & secret) for name, secret in others.items()}
    null_task = max(null, key=lambda name: null[name], default=None)
    finding = finding_id(task, leaked)
    waiver = waivers.get(finding or "")
    return StudyLeak(
        task, arm.name, verdict_of(len(leaked)), len(leaked),
        null[null_task] if null_task else None,
        null_task if null_task and null[null_task] else None,
        _with(offered, leaked), _with(hidden, leaked), finding,
        f"{waiver.reason} ({waiver.by})" if waiver else None,
    )  # fmt: skip


def _with(rows: Iterable[ProtectedText], leaked: frozenset[int]) -> tuple[str, ...]:
    """Files with leaked runs, most first."""
    runs = Counter({row.source: len(row.prints.digests & leaked) for row in rows})
    return tuple(name for name, count in runs.most_common() if count)


def refuse_leaks(study: StudyFolder) -> None:
    """Raise GateError if a Skill of the study has a failed leak that no person has accepted."""
    blocking = [one for one in study_leaks(study) if one.blocks]
    if not blocking:
        return
    first = blocking[0]
    same = [one for one in blocking if one.finding == first.finding]
    others = len({one.finding for one in blocking}) - 1
    more = f"; {others} more: skilljuror waive {study.root}" if others else ""
    raise GateError(
        f"task {first.task!r}: the Skill of {', '.join(one.condition for one in same)} gives the answer away:"
        f" {first.runs} runs of words of {first.task_files[0]} are in its {first.skill_files[0]}; remove them"
        f" from the Skill and rerun, or accept them: skilljuror waive {study.root}"
        f" {first.finding} --reason '…'{more}",
        file=str(study.root),
    )
