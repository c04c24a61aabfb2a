"""Does a Skill give the answer away? Runs of words that a Skill shares with a task's solution and verifier.

With the fingerprints F of `skilljuror.base.texts`, the Skill's text S without licences, the hidden text H
of solution/ and tests/, and the visible text V of the instruction and the environment:

    leak(S, H) = | F(S) ∩ F(H) - F(V) |

The null of a leak is the same count with H of another task. Renamed or paraphrased answers are not found.
Thresholds: 63 tasks of SkillsBench have 21 leaks of 20 runs or more and 7 of 4 to 19; their 3,904 mismatched
pairs have 4 and 12.

`leak_verdict` compares folders; `study_leaks` compares a study's saved fingerprints, with people's waivers.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from hashlib import blake2b
from pathlib import Path
from typing import Literal

from msgspec import Struct

from skilljuror.base.build import LEAK_RULE, Finding
from skilljuror.base.errors import GateError
from skilljuror.base.files import StudyFolder, read_record, read_rows
from skilljuror.base.review import Waiver
from skilljuror.base.review_rows import rows_of
from skilljuror.base.skill import class_of, is_licence
from skilljuror.base.study import Condition, PlannedTask, StudyPlan, arm_at, trial_arms
from skilljuror.base.texts import LARGEST, LEAST, Fingerprints, texts_below, tokenize
from skilljuror.harness.tasks import BAKED_SKILLS
from skilljuror.layouts.build.protected_texts import (
    FOLDERS,
    ProtectedText,
    bundle_texts,
    fingerprints_of,
)

LeakVerdict = Literal["ok", "review", "fail", "unknown"]
REVIEW = LEAST
"""Runs from which a person must look: about five lines of code."""
FAIL = 20
"""Runs from which a leak fails: about twelve lines of code."""
MAX_UNREAD = 5
"""Most unread files that a reason names."""
Runs = Mapping[str, frozenset[int]]
"""File -> digests of its runs."""


class SkillLeak(Struct, frozen=True):
    """The leak of one Skill and one task."""

    verdict: LeakVerdict
    """fail from 20 runs, review from 4; unknown: no text to compare, or not all text was compared."""
    runs: int | None
    """leak(S, H); None without text on both sides."""
    skill_files: tuple[str, ...] = ()
    """Files of the Skill with some of the runs, most first."""
    task_files: tuple[str, ...] = ()
    """Files of the task, likewise."""
    reason: str | None = None
    """Why the verdict is unknown, or why it is review for a generated Skill."""


class TaskTexts(Struct, frozen=True):
    """The texts of a task and of a Skill for it, by file."""

    skill: dict[str, str]
    """The Skill without licences."""
    hidden: dict[str, str]
    """solution/ and tests/."""
    offered: Runs
    """Runs of the Skill."""
    secret: Runs
    """Runs of solution and verifier."""
    visible: frozenset[int]
    """Runs of the Skill that are in the instruction or the environment."""
    unread: tuple[str, ...]
    """Links and long texts that were not read, one line each."""

    def null(self, other: "TaskTexts") -> int:
        """Runs of the Skill in the solution and verifier of another task."""
        offered = frozenset().union(*self.offered.values()) - self.visible
        return len(offered & frozenset().union(*other.secret.values()))


def leak_verdict(skill_dir: Path, task_dir: Path, *, generated: bool = False) -> SkillLeak:
    """Judge a Skill, or a folder of Skills, for a task. Runs nothing.

    The creator of a generated Skill saw the instruction and the environment: runs that it has in common with
    these are a review. Raises BundleError for an archive that cannot be read.
    """
    return leak_of(read_texts(task_dir, skill_dir), generated=generated)


def read_texts(task_dir: Path, skills: Path | None = None) -> TaskTexts:
    """Read and fingerprint a task and a Skill; default: the task's own. Links are not followed.

    Raises BundleError for an archive that cannot be read.
    """
    environment, instruction = task_dir / "environment", task_dir / "instruction.md"
    place = skills or environment / BAKED_SKILLS
    folders = [task_dir / name for name in FOLDERS.values()]
    linked = [path for path in (*folders, environment) if path.is_symlink()]
    linked += [place] if skills is None and place.is_symlink() else []
    skill = {}
    if place.exists() and not {place, place.parent} & {*linked}:
        skill = {path: text for path, text in bundle_texts(place).items() if not is_licence(path)}
    hidden = {
        f"{folder.name}/{path}": text
        for folder in folders
        if folder not in linked
        for path, text in texts_below(folder).items()
    }
    visible = []
    if instruction.is_file() and instruction.stat().st_size <= LARGEST:
        visible.append(instruction.read_text(encoding="utf-8", errors="replace"))
    if environment not in linked:
        visible += texts_below(environment, skip=BAKED_SKILLS).values()
    unread = [f"{path.relative_to(task_dir)} is a link" for path in linked]
    for folder in dict.fromkeys((*folders, place)):
        unread += _unread(folder) if folder not in linked else ()
    offered = {path: Fingerprints.of(tokenize(text)) for path, text in skill.items()}
    return TaskTexts(
        skill, hidden,
        {path: prints.digests for path, prints in offered.items()},
        {path: Fingerprints.of(tokenize(text)).digests for path, text in hidden.items()},
        Fingerprints.union(offered.values()).found_in(visible), tuple(unread),
    )  # fmt: skip


def _unread(folder: Path) -> Iterator[str]:
    """Links, and texts that are too long."""
    for path in sorted(folder.rglob("*")):
        name = f"{folder.name}/{path.relative_to(folder).as_posix()}"
        if path.is_symlink():
            yield f"{name} is a link"
        elif path.is_file() and path.stat().st_size > LARGEST and class_of(name) != "data":
            yield f"{name} is longer than {LARGEST // 1_000_000} MB"


def leak_of(texts: TaskTexts, *, generated: bool = False) -> SkillLeak:
    """Judge the texts of a task and a Skill."""
    more = len(texts.unread) - MAX_UNREAD
    unread = [*texts.unread[:MAX_UNREAD], *([f"and {more} more"] if more > 0 else ())]
    if not texts.skill or not texts.hidden:
        missing = "no text in solution/ and tests/" if texts.skill else "no text of a Skill"
        return SkillLeak("unknown", None, reason="; ".join([missing, *unread]))
    leaked = shared_runs(texts.offered, texts.secret) - texts.visible
    verdict, reason = verdict_of(len(leaked)), None
    if verdict == "ok" and generated and len(texts.visible) >= REVIEW:
        verdict, reason = (
            "review",
            f"{len(texts.visible)} runs of the instruction or the environment",
        )
    elif verdict == "ok" and unread:
        verdict, reason = "unknown", f"not compared: {'; '.join(unread)}"
    files = (files_with(leaked, texts.offered), files_with(leaked, texts.secret))
    return SkillLeak(verdict, len(leaked), *files, reason)


def verdict_of(runs: int) -> LeakVerdict:
    """Return the verdict on a number of runs."""
    return "fail" if runs >= FAIL else "review" if runs >= REVIEW else "ok"


def shared_runs(skill: Runs, hidden: Runs) -> frozenset[int]:
    """Return the runs that are in a file of both."""
    return frozenset().union(*skill.values()) & frozenset().union(*hidden.values())


def files_with(leaked: frozenset[int], runs: Runs) -> tuple[str, ...]:
    """Return the files with leaked runs, most first."""
    counts = Counter({path: len(digests & leaked) for path, digests in runs.items()})
    return tuple(path for path, count in counts.most_common() if count)


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
    rows = {
        name: list(read_rows(ProtectedText, path)) for name, path in files.items() if path.is_file()
    }
    hidden: dict[str, Runs] = {
        name: {row.source: row.prints.digests for row in texts if row.kind in FOLDERS}
        for name, texts in rows.items()
    }
    waivers = {row.finding: row for row in rows_of(Waiver, study.reviews)}
    arms = {arm.name: arm for arm in plan.config.conditions}
    cells = {
        (trial.task, arm_at(arms[trial.condition], trial.number).name) for trial in plan.trials
    }
    leaks = []
    tasks = [task for task in plan.tasks if task.name in rows]
    for task in tasks:
        for arm in trial_arms(plan.config):
            if not arm.offers or (task.name, arm.name) not in cells:
                continue
            offered = _offered(rows[task.name], arm)
            if not offered or not hidden[task.name]:
                leaks.append(
                    StudyLeak(task.name, arm.name, "unknown", None, None, None, (), (), None)
                )
                continue
            leaked = shared_runs(offered, hidden[task.name])
            nulls = {
                other.name: len(shared_runs(offered, hidden[other.name]))
                for other in tasks
                if any(hidden[other.name].values()) and _skill(other, arm) != _skill(task, arm)
            }
            null = max(nulls, key=lambda name: nulls[name], default=None)
            finding = None
            if leaked:  # an id that changes with the runs
                digest = blake2b(" ".join(map(str, sorted(leaked))).encode(), digest_size=6)
                finding = f"leak.{task.name}.{digest.hexdigest()}"
            waiver = waivers.get(finding or "")
            leaks.append(StudyLeak(
                task.name, arm.name, verdict_of(len(leaked)), len(leaked),
                nulls[null] if null else None, null if null and nulls[null] else None,
                files_with(leaked, offered), files_with(leaked, hidden[task.name]), finding,
                f"{waiver.reason} ({waiver.by})" if waiver else None,
            ))  # fmt: skip
    return leaks


def _skill(task: PlannedTask, arm: Condition) -> str | None:
    """Digest of the Skill; other tasks with the same one are no null."""
    given = task.given.get(arm.name)
    return (given.tree_digest if given else None) if arm.skill else task.source_digest


def _offered(rows: Iterable[ProtectedText], arm: Condition) -> Runs:
    """Runs of the Skill's files without licences; of a variant, without the parts that it lacks."""
    lacking = frozenset[int]().union(
        *(row.prints.digests for row in rows if arm.variant and row.lacked_by == arm.variant)
    )
    return {
        row.source: row.prints.digests - lacking
        for row in rows
        if row.kind == "skill" and row.lacked_by is None and not is_licence(row.source)
        if row.variant == (arm.name if arm.skill else None)
    }


def refuse_leaks(study: StudyFolder) -> None:
    """Raise GateError if a Skill of the study has a failed leak that no person has accepted."""
    blocking = [leak for leak in study_leaks(study) if leak.blocks]
    if not blocking:
        return
    first = blocking[0]
    same = [leak for leak in blocking if leak.finding == first.finding]
    others = len({leak.finding for leak in blocking}) - 1
    more = f"; {others} more: skilljuror waive {study.root}" if others else ""
    raise GateError(
        f"task {first.task!r}: the Skill of {', '.join(leak.condition for leak in same)} gives the answer away:"
        f" {first.runs} runs of words of {first.task_files[0]} are in its {first.skill_files[0]}; remove them"
        f" from the Skill and rerun, or accept them: skilljuror waive {study.root}"
        f" {first.finding} --reason '…'{more}",
        file=str(study.root),
    )
