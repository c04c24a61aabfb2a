"""Check task folders without a study and without a run: their parts, and whether the Skill gives the answer
away.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Literal

import yaml
from msgspec import Struct

from skilljuror.base.errors import StudyError
from skilljuror.base.files import data_dir
from skilljuror.base.review import AttributeRubric
from skilljuror.base.skill import is_root_name
from skilljuror.base.study import SkillSource, StudyPlan, TaskJudge
from skilljuror.base.workers import Listener, Progress, silent
from skilljuror.harness.criteria import read_tests
from skilljuror.harness.environment import read_allowance
from skilljuror.harness.skill_leaks import (
    PlantedLeaks,
    SkillLeak,
    TaskTexts,
    assay_leaks,
    leak_of,
    leak_verdict,
    nulls,
    read_texts,
    verdict_of,
)
from skilljuror.harness.tasks import (
    JUDGES,
    TASK_PARTS,
    baked_skills,
    judge_of,
    missing_parts,
    task_settings,
)
from skilljuror.study.rubric_work import has_rubric, rubric_findings

RuleVerdict = Literal["ok", "note", "unknown", "review", "fail"]
VERDICTS: tuple[RuleVerdict, ...] = ("ok", "note", "unknown", "review", "fail")
"""From best to worst. unknown: a run or a person must tell."""
MAX_TESTS = 10
"""SkillsBench asks for fewer tests than this, unless they are justified."""
DIFFICULTIES = ("easy", "medium", "hard")
_REWARD = re.compile(r"reward\.(?:txt|json)\b")


class TaskRule(Struct, frozen=True):
    """One rule on one task."""

    rule: str
    """parts, skill, solution, reward, tests, network, baked, metadata or leak; rubric, or a weakness of its
    items: following, goal, free points, orphan."""
    verdict: RuleVerdict
    """A note does not count."""
    reason: str
    """What was found."""


class CheckedTask(Struct, frozen=True):
    """A task folder, its leak and its rules."""

    task: str
    """Name of the folder."""
    path: str
    """The folder."""
    verdict: RuleVerdict
    """The worst verdict of the rules; a note is ok."""
    leak: SkillLeak
    """Text of the Skill that only solution and verifier should have."""
    null: int | None
    """Most runs of the Skill in the solution and verifier of another task; None without another one."""
    null_task: str | None
    """That task."""
    rules: tuple[TaskRule, ...]
    """One row per rule."""

    @property
    def problems(self) -> tuple[str, ...]:
        """What is wrong, missing or unknown, besides a leak."""
        wrong = [one for one in self.rules if one.verdict not in {"ok", "note"}]
        said = [one.reason for one in wrong if one.rule != "leak"]
        return tuple(dict.fromkeys([*said, *([self.leak.reason] if self.leak.reason else ())]))


class CheckedTasks(Struct, frozen=True):
    """All tasks of a call."""

    tasks: tuple[CheckedTask, ...]
    """In the order of the call."""
    pairs: int
    """Pairs of a task's Skill and another task's solution and verifier."""
    null_failed: int
    """Of these, pairs with as many common runs as a leak that fails."""
    null_reviewed: int
    """Of these, pairs with as many as a leak that a person must see."""
    assay: tuple[PlantedLeaks, ...] = ()
    """How many planted leaks are found, by number of lines; if asked for."""

    @property
    def status(self) -> int:
        """Exit status: 1 if a task fails, 3 if a person must decide, else 0."""
        worst = max((one.verdict for one in self.tasks), key=VERDICTS.index, default="ok")
        return {"fail": 1, "review": 3}.get(worst, 0)


def check_tasks(
    folders: Sequence[Path],
    skills: str | None = None,
    *,
    assay: bool = False,
    progress: Listener = silent,
) -> CheckedTasks:
    """Check task folders. `skills` is the Skill to compare with, {task} for the task's name; default: each
    task's own.

    Raises StudyError for a folder that is not a task and for a missing Skill, BundleError for an archive of
    Skills that cannot be read.
    """
    read = []
    progress(Progress("check", 0, len(folders)))
    for done, folder in enumerate(folders, 1):
        _refuse_other(folder)
        read.append(read_texts(folder, _skill_at(skills, folder)))
        progress(Progress("check", done, len(folders), folder.name))
    chance = nulls(read)
    names = [folder.resolve().name for folder in folders]
    compared = [
        bool(texts.skill) * sum(bool(other.hidden) for other in read if other.skill != texts.skill)
        for texts in read
    ]
    rows = []
    for folder, texts, found, others in zip(folders, read, chance, compared, strict=True):
        other, null = next(iter(found.most_common(1)), (None, 0 if others else None))
        leak = leak_of(folder.resolve().name, texts)
        rules = tuple(_rules(folder, texts, leak))
        rows.append(
            CheckedTask(
                folder.resolve().name, str(folder), _worst(rules), leak, null,
                None if other is None else names[other], rules,
            )
        )  # fmt: skip
    verdicts = Counter(verdict_of(runs) for found in chance for runs in found.values())
    return CheckedTasks(
        tuple(rows), sum(compared), verdicts["fail"], verdicts["review"],
        tuple(assay_leaks(read)) if assay else (),
    )  # fmt: skip


def _worst(rules: Iterable[TaskRule]) -> RuleVerdict:
    found = {rule.verdict for rule in rules} - {"note"}
    return next((one for one in reversed(VERDICTS) if one in found), "ok")


def _refuse_other(folder: Path) -> None:
    """Raise StudyError for a folder without any part of a task."""
    if not folder.is_dir():
        raise StudyError(
            f"{str(folder)!r} is not a folder; name a study file (.yaml) or task folders",
            file=str(folder),
        )
    if not any((folder / part).exists() for part in TASK_PARTS):
        raise StudyError(
            f"{str(folder)!r} is not a task folder: it has none of {', '.join(TASK_PARTS)}; name"
            " task folders, such as tasks/*",
            file=str(folder),
        )


def _skill_at(skills: str | None, folder: Path) -> Path | None:
    if skills is None:
        return None
    place = Path(SkillSource(path=skills).at(folder.resolve().name))
    if not place.exists():
        raise StudyError(f"Skill {str(place)!r} not found", file=str(place), field="skills")
    return place


def _rules(folder: Path, texts: TaskTexts, leak: SkillLeak) -> Iterator[TaskRule]:
    absent = missing_parts(folder)
    yield TaskRule("parts", "fail", f"{', '.join(absent)} missing") if absent else _ok("parts")
    if texts.skill:
        root = any(map(is_root_name, texts.skill))
        yield _ok("skill") if root else TaskRule("skill", "fail", "no SKILL.md that is text")
    else:
        yield TaskRule("skill", "unknown", leak.reason or "")
    solved = (folder / "solution" / "solve.sh").is_file()
    yield _ok("solution") if solved else _unknown("solution", "solution/solve.sh missing")
    yield from _of_tests(texts, judge_of(folder))
    yield from _of_settings(folder)
    yield TaskRule("leak", leak.verdict, leak.reason or f"{leak.runs} runs of words")
    yield from _of_rubric(folder, texts)


def _of_rubric(folder: Path, texts: TaskTexts) -> Iterator[TaskRule]:
    """Weak items of a task's rubric: the Skill may say an orphan's words in a form that is not found."""
    if not has_rubric(folder) or not (folder / "instruction.md").is_file():
        return
    try:
        found = rubric_findings(folder, texts.skill.values())
    except StudyError as error:
        yield TaskRule("rubric", "fail", error.message)
        return
    yield _ok("rubric")
    for rule, message in dict.fromkeys((one.rule, one.message) for one in found):
        items = ", ".join(one.item for one in found if one.rule == rule)
        verdict: RuleVerdict = "note" if rule == "orphan" else "review"
        yield TaskRule(rule, verdict, f"rubric, {rule}: {message}: {items}")


def _ok(rule: str) -> TaskRule:
    return TaskRule(rule, "ok", "present")


def _unknown(rule: str, reason: str) -> TaskRule:
    return TaskRule(rule, "unknown", reason)


def _of_tests(texts: TaskTexts, judge: TaskJudge) -> Iterator[TaskRule]:
    tests = {path: text for path, text in texts.hidden.items() if path.startswith("tests/")}
    writes = any(_REWARD.search(text) for text in tests.values())
    if judge != "verifier":
        yield TaskRule("reward", "note", f"none: {JUDGES[judge]} judges")
    else:
        unknown = _unknown("reward", "no file of tests/ names reward.txt or .json")
        yield _ok("reward") if writes else unknown
    count = sum(len(read_tests(text) or ()) for path, text in tests.items() if path.endswith(".py"))
    known = f"{count} test functions" if count else "not counted: no test function of Python"
    yield TaskRule("tests", "ok" if 0 < count < MAX_TESTS else "note", known)


def _of_settings(folder: Path) -> Iterator[TaskRule]:
    if not (folder / "task.toml").is_file():
        return
    try:
        settings, network = task_settings(folder), read_allowance(folder).network
    except StudyError as error:
        yield TaskRule("settings", "fail", error.message)
        return
    yield TaskRule("network", "note", network or "not set")
    yield TaskRule(
        "baked", "note", "; ".join(baked_skills(folder, settings)) or "no Skill to remove"
    )
    yield TaskRule("metadata", "note", "; ".join(_outside(settings)) or "in the vocabulary")


def _outside(settings: dict[str, Any]) -> Iterator[str]:
    """Metadata outside the vocabulary of the packaged rubric."""
    rubric = yaml.safe_load((data_dir("rubrics") / "task-attributes.yaml").read_bytes())
    known = AttributeRubric.model_validate(rubric).attributes
    values = {name: tuple(one.values) for name, one in known.items()} | {"difficulty": DIFFICULTIES}
    metadata = settings.get("metadata")
    for name, value in metadata.items() if isinstance(metadata, dict) else ():
        if name in values and value not in values[name]:
            yield f"{name} = {value!r} (choose {', '.join(values[name])})"


def leak_lines(plan: StudyPlan, base: Path) -> Iterator[str]:
    """Yield a line for each leak, that fails or that a person must see, of the Skills that a study offers
    from disk; `base` is the folder of the study file."""
    for task in plan.tasks:
        built = [(task.skills, arm.name) for arm in plan.config.conditions if arm.variant]
        given = [(one.path, name) for name, one in task.given.items() if one.commit is None]
        for skill, arm in dict(reversed([*built, *given])).items():
            found = leak_verdict(base / skill, base / task.path)
            if found.verdict in {"review", "fail"}:
                first = found.places[0]
                refused = "; run refuses an arm that offers them until they are accepted" * (
                    found.verdict == "fail"
                )
                yield (
                    f"{task.name}: {found.runs} runs of words of {first.task_file} are in the Skill of {arm!r},"
                    f" {first.skill_file}{refused}"
                )
