"""Write a first study file from existing folders, with a comment for every field.

It is loaded and frozen before it is written, so `plan` and `run` accept it.
"""

import os
import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml
from msgspec import Struct
from msgspec.structs import replace

from skilljuror.base.errors import StudyError, UsageError
from skilljuror.base.files import StudyFolder, read_rows, replacement
from skilljuror.base.results import Generation
from skilljuror.base.skill import Blob
from skilljuror.base.study import (
    NUMBER,
    Condition,
    Exclusion,
    SkillSource,
    TaskEntry,
    arm_at,
)
from skilljuror.harness.tasks import (
    BAKED_SKILLS,
    judge_of,
    planned_task,
    task_name,
    task_settings,
    unsupported,
)
from skilljuror.layouts.build.build import load_transform
from skilljuror.layouts.build.given_skills import GivenSkills
from skilljuror.layouts.build.scopes import flat_page
from skilljuror.layouts.controls import PREFIX, titles_of
from skilljuror.skill.bundles import load_bundle
from skilljuror.study.plan import freeze, load_study
from skilljuror.study.task_sources import (
    TASK_MD,
    TASKS,
    RepositorySource,
    TaskDraft,
    placed,
    relative,
    task_of_package,
    task_of_repository,
    tasks_of_evals,
)

NO_SKILL, CREDENTIAL, REFUSED = "no Skill", "external credential", "refused by the plan"
NO_INPUT = "missing input"
"""Categories of excluded tasks."""
USUAL_TRIALS = 5
USUAL_SECONDS = 600
"""Time limit of agent and verifier in a task that names none."""
LAYOUTS = (
    Condition(name="no_skill"),
    Condition(name="flat-files", variant="flat-files"),
    Condition(name="pd", variant="pd"),
)
"""Conditions of a layout study; the last is compared with the one before it."""
BASELINE = Condition(name="baseline", variant="baseline")
OF_THE_PAPER = (LAYOUTS[0], BASELINE, LAYOUTS[2])
"""Those of the SkillJuror paper."""
CURATED = (LAYOUTS[0], Condition(name="curated", variant="origin"))
"""Those that a generated Skill is compared with."""
SHAM = (Condition(name="sham", variant="placebo-irrelevant"),)
"""Next to the arms of a study of sections: nothing of the Skill."""

TEMPLATE = """\
# A skilljuror study. Paths are relative to this file; docs/study-file.md describes every field.
format_version: 1
name: {name}  # short name; the run is stored in out/{name}
seed: 7  # for the order of the trials and the agents' seeds
trials_per_cell: {trials}  # trials of every (task, condition) pair

# Folders in Harbor task format. skills: the source Skill; default: the task's environment/skills.
tasks:
{tasks}
{exclusions}
# The arms. They differ only in the Skill.{arms}
conditions:
{conditions}
contrast: {{treatment: {treatment}, control: {control}}}  # the headline: treatment minus control
primary_outcome: {outcome}
# margin: 5  # percentage points below which the arms count as equal; declare it before the run
disclosure: silent  # the prompt does not mention the Skill; named: its last line names it

# Where trials run.{place}
# timeouts: task: the seconds that a task's task.toml names for agent and verifier go before these;
# timeout_multiplier: 2 doubles all.
harness: {harness}
# The agent; docs/agents.md lists the others. It requires OPENAI_API_KEY in the environment.
agent: {agent}
# build: {{engine: rewrite, model: openai/gpt-5.4}}  # a model writes the layouts; default: rules move the text
retries: 1  # further attempts at a trial after a fault of the machine
# budget: {{dollars: 50, minutes: 600}}  # limit for all attempts together; default: no limit
"""
OUTCOMES = {
    "strict_pass": "strict_pass  # reward 1 passes; or reward, its mean; or checks, the share of points",
    "checks": "checks  # the share of the rubrics' points; no verifier gives a reward",
}
OF_LAYOUTS = """
# no_skill: no Skill; flat-files: all prose on one page, scripts and data on disk; pd: a short root that opens
# pages on demand. Which further arms part the difference: docs/study-file.md."""
AS_IN_THE_PAPER = """
# no_skill: no Skill; baseline: all on one page; pd: a short root that opens files on demand."""
OF_SECTIONS = """
# without-…: one section says something irrelevant of the same length; sham: all of it does; baseline: the Skill
# on one page. The report compares baseline with each."""
OF_GENERATED = """
# no_skill: no Skill; curated: the task's own, unchanged; self: the one that was generated for the task."""
OF_VERSIONS = " Each has the Skill of a git revision."
LOCAL = " local: the sandbox of this machine."
HARBOR = " harbor: docs/harbor.md; environment: docker, daytona, modal, …"
EXCLUDED = """
# Tasks excluded before any trial; each is reported with its reason.
exclude:
"""
CUT_OFF = """
# Exclude a task if a condition offers a Skill with more tokens of text than this.
exclude_rules: {max_tokens: 100000}
"""


class StudySource(Struct, frozen=True):
    """Inputs of a study file: tasks in one way, and optionally a Skill."""

    tasks: tuple[Path, ...] = ()
    """Task folders."""
    tasks_dir: Path | None = None
    """A folder of task folders; those that cannot be run are excluded with a reason."""
    skillsbench: Path | None = None
    """A checkout of SkillsBench, studied as in the SkillJuror paper."""
    skill: Path | None = None
    """The Skill of every task; None for each task's own."""
    revisions: tuple[str, str] | None = None
    """Two git revisions of it to compare instead of layouts, the earlier first."""
    sections: bool = False
    """Whether to leave out each section of it in an arm of its own, instead of comparing layouts."""
    evals: Path | None = None
    """A Skill's folder whose own evals are the tasks."""
    repository: RepositorySource | None = None
    """A repository at a commit, which is the task."""
    generated: Path | None = None
    """Folder of `generate`, whose Skills are compared with no Skill and with the tasks' own."""


class NewStudy(Struct, frozen=True):
    """A written study file."""

    file: Path
    tasks: int
    """Tasks found."""
    excluded: dict[str, int]
    """Category -> excluded tasks, largest first."""
    conditions: tuple[str, ...]
    trials: int
    """Planned trials."""
    harness: str


def repository(
    repo: Path | None, commit: str | None, requirement: Path | None, tests: Path | None
) -> RepositorySource | None:
    """Return the repository that options name; None without any. Raises UsageError if one is missing."""
    if repo and commit is not None and requirement:
        return RepositorySource(repo, commit, requirement, tests)
    if repo or commit is not None or requirement or tests:
        raise UsageError("--repo, --commit and --requirement go together; --tests needs them")
    return None


def init_study(source: StudySource, out: Path) -> NewStudy:
    """Write a study file; an equal existing one stays.

    Raises UsageError for an invalid source and for a different file at `out`.
    """
    _check(source)
    base = out.parent
    if not base.is_dir():
        raise StudyError(f"{str(out)!r}: folder {str(base)!r} not found; create it first")
    drafts, skills, unfit = _converted(source, base)
    folders = {f"{TASKS}/{draft.name}": draft.content() for draft in drafts} | skills
    converted = [*(base / TASKS / draft.name for draft in drafts), *unfit]
    lacks = {draft.name: (NO_INPUT, draft.lacks) for draft in drafts if draft.lacks}
    lacks |= {path.name: (REFUSED, reason) for path, reason in unfit.items()}
    with placed(folders, base):
        if source.evals:
            source = replace(source, skill=base / next(iter(skills)))
        arms = _conditions(source, base)
        skill = relative(source.skill, base) if source.skill and not source.revisions else None
        entries = [
            TaskEntry(path=relative(folder, base), skills=skill)
            for folder in _folders(source, converted)
        ]
        exclude = [
            Exclusion(task=task_name(base / entry.path), category=found[0], reason=found[1])
            for entry in entries
            if (found := lacks.get(Path(entry.path).name) or _problem(entry, arms, source, base))
        ]
        if exclude and (source.tasks or len(exclude) == len(entries)):
            none = "" if source.tasks else f"none of the {len(entries)} tasks can be run; "
            first = exclude[0]
            fix = "; name one with --skill" if first.category == NO_SKILL else ""
            raise StudyError(f"{none}task {first.task!r}: {first.reason}{fix}", field="tasks")
        text = _text(source, entries, exclude, arms, base)
        if out.exists() and not (out.is_file() and out.read_bytes() == text.encode()):
            raise StudyError(
                f"{str(out)!r} already exists; move it away, or name another file with --out",
                file=str(out),
            )
        with replacement(out) as new:
            new.write_text(text, encoding="utf-8")
            plan = freeze(load_study(new), base, GivenSkills(base))
    return NewStudy(
        file=out,
        tasks=len(entries),
        excluded=dict(Counter(exclusion.category for exclusion in exclude).most_common()),
        conditions=tuple(arm.name for arm in arms),
        trials=len(plan.trials),
        harness=plan.config.harness.name,
    )


def _check(source: StudySource) -> None:
    """Raise UsageError for conflicting options and for a Skill without SKILL.md."""
    several = (source.tasks, source.tasks_dir, source.skillsbench, source.evals, source.repository)
    if len([way for way in several if way]) != 1:
        raise UsageError(
            "name the tasks in one way: --task, --tasks, --skillsbench, --evals or --repo"
        )
    if (source.skillsbench or source.evals) and source.skill:
        raise UsageError(
            "--skillsbench and --evals bring their own Skills; to use --skill, name the tasks"
            " folder with --tasks",
            field="skill",
        )
    studies = {"--revisions": source.revisions, "--sections": source.sections}
    for option, chosen in studies.items():
        if chosen and not source.skill:
            raise UsageError(f"{option} requires --skill", field="skill")
    names = [name for name, asked in (studies | {"--generated": source.generated}).items() if asked]
    if len(names) > 1:
        raise UsageError(f"{' and '.join(names)} are two studies; choose one")
    if source.skill and not source.revisions and not load_bundle(source.skill).skills:
        raise UsageError(
            f"--skill {str(source.skill)!r} has no SKILL.md; name a folder of one or more skills",
            file=str(source.skill),
        )


def _converted(
    source: StudySource, base: Path
) -> tuple[list[TaskDraft], dict[str, dict[str, Blob]], dict[Path, str]]:
    """Tasks to write below the study file's folder; the Skill that they are about, by its path from there; and
    packages that cannot be tasks, with the reason."""
    if source.evals:
        skills, drafts = tasks_of_evals(source.evals, base)
        return drafts, skills, {}
    if source.repository:
        return [task_of_repository(source.repository, base)], {}, {}
    drafts, unfit = [], {}
    found = source.tasks_dir.glob(f"*/{TASK_MD}") if source.tasks_dir else ()
    for file in sorted(found, key=os.fsencode):
        if not (file.parent / "task.toml").exists():
            try:
                drafts.append(task_of_package(file.parent, base))
            except UsageError as error:
                unfit[file.parent] = error.message
    return drafts, {}, unfit


def _folders(source: StudySource, converted: Sequence[Path]) -> Sequence[Path]:
    """List the task folders, sorted by the bytes of their names."""
    if source.tasks:
        return source.tasks
    top = source.skillsbench / "tasks" if source.skillsbench else source.tasks_dir
    ready = (path.parent for path in top.glob("*/task.toml")) if top else ()
    folders = sorted((*ready, *converted), key=lambda folder: os.fsencode(folder.name))
    if not folders:
        raise StudyError(
            f"{str(top)!r} has no task; a task is a folder with a task.toml, or with a {TASK_MD}",
            file=str(top),
        )
    return folders


def _conditions(source: StudySource, base: Path) -> tuple[Condition, ...]:
    if source.sections and source.skill:
        titles = titles_of(flat_page(load_bundle(source.skill, inspect=False)))
        names = [f"{PREFIX}{title}" for title in titles]
        arms = {load_transform(name).variant: name for name in names}
        return (*SHAM, *(Condition(name=arm, variant=name) for arm, name in arms.items()), BASELINE)
    if source.generated:
        number = f"/{NUMBER}" if _skills_per_task(source) > 1 else ""
        path = f"{relative(source.generated, base)}/skills/{{task}}{number}"
        return (*CURATED, Condition(name="self", skill=SkillSource(path=path)))
    if not (source.revisions and source.skill):
        return OF_THE_PAPER if source.skillsbench else LAYOUTS
    path = relative(source.skill, base)
    return tuple(
        Condition(name=name, skill=SkillSource(path=path, revision=revision))
        for name, revision in zip(("old", "new"), source.revisions, strict=True)
    )


def _skills_per_task(source: StudySource) -> int:
    """Skills generated for each task; 0 without any."""
    if not source.generated:
        return 0
    rows = read_rows(Generation, StudyFolder(source.generated / "create").generation)
    return max(Counter(row.task for row in rows).values(), default=0)


def _problem(
    entry: TaskEntry, arms: Sequence[Condition], source: StudySource, base: Path
) -> tuple[str, str] | None:
    """Category and reason of an exclusion, or None."""
    folder = base / entry.path
    baked = folder / "environment" / BAKED_SKILLS
    if folder.is_dir() and not source.skill and not baked.exists():
        return NO_SKILL, f"it has no Skill under environment/{BAKED_SKILLS}"
    try:
        find = GivenSkills(base) if source.generated else None
        planned_task([arm_at(arm, 1) for arm in arms], entry, base, find)
        if not source.skill and not load_bundle(baked).skills:
            return NO_SKILL, f"environment/{BAKED_SKILLS} has no SKILL.md"
        verifier = task_settings(folder).get("verifier") if source.skillsbench else None
        env = verifier.get("env") if isinstance(verifier, dict) else None
        variables = env.items() if isinstance(env, dict) else ()
        asked = sorted(name for name, value in variables if "${" in str(value))  # of this machine
    except UsageError as error:
        return REFUSED, error.message
    return (CREDENTIAL, f"its verifier requires {', '.join(asked)}") if asked else None


def _text(
    source: StudySource,
    entries: Sequence[TaskEntry],
    exclude: Sequence[Exclusion],
    arms: Sequence[Condition],
    base: Path,
) -> str:
    places = [base / entry.path for entry in entries]
    local = not (source.tasks_dir or source.skillsbench) and not any(map(unsupported, places))
    outcome = "strict_pass" if all(judge_of(place) == "verifier" for place in places) else "checks"
    harness = {
        "name": "local" if local else "harbor",
        "timeouts": "task",
        "timeout_sec": USUAL_SECONDS,
        "verifier_timeout_sec": USUAL_SECONDS,
        **({} if local else {"options": {"environment": "docker"}}),
    }
    agent = {
        "name": "codex",
        "model": "gpt-5.4" if local else "openai/gpt-5.4",
        **({"effort": "high"} if source.skillsbench else {}),
        **({} if local else {"options": {"keys": ["OPENAI_API_KEY"]}}),
    }
    conditions = [
        {
            "name": arm.name,
            **({"skill": arm.skill.model_dump()} if arm.skill else {"variant": arm.variant}),
        }
        for arm in arms
    ]
    tasks = [entry.model_dump(exclude_none=True, exclude={"attributes"}) for entry in entries]
    if source.skillsbench:
        name = "skillsbench"
    else:
        requirement = source.repository and source.repository.requirement.with_suffix("")
        named = requirement or source.skill or source.tasks_dir or source.tasks[0]
        name = re.sub(r"[^a-z0-9]+", "-", named.absolute().name.lower()).strip("-") or "study"
    about = AS_IN_THE_PAPER if source.skillsbench else OF_LAYOUTS
    if source.generated:
        about = OF_GENERATED
    elif source.revisions or source.sections:
        about = OF_VERSIONS if source.revisions else OF_SECTIONS
    excluded = "".join(f"  - {_yaml(exclusion.model_dump())}\n" for exclusion in exclude)
    return TEMPLATE.format(
        name=name,
        trials=trials if (trials := _skills_per_task(source)) > 1 else USUAL_TRIALS,
        tasks="\n".join(f"  - {_yaml(task)}" for task in tasks),
        exclusions=(EXCLUDED + excluded if excluded else "")
        + (CUT_OFF if source.skillsbench else ""),
        arms=about,
        conditions="\n".join(f"  - {_yaml(condition)}" for condition in conditions),
        treatment=arms[-1].name,
        control=(arms[0] if source.sections or source.generated else arms[-2]).name,
        place=LOCAL if local else HARBOR,
        harness=_yaml(harness),
        agent=_yaml(agent),
        outcome=OUTCOMES[outcome],
    )


def _yaml(value: Any) -> str:
    text: str = yaml.safe_dump(
        value, default_flow_style=True, sort_keys=False, allow_unicode=True, width=float("inf")
    )
    return text.rstrip("\n")
