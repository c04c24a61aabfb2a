"""Write a first study file from existing folders, with a comment for every field.

It is loaded and frozen before it is written, so `plan` and `run` accept it. A Skill's own evals (evals/evals.json
of the Agent Skills guide, and trigger queries) become task folders beside it: all of them, or none. They are
hostile: read as bundles are, nothing in them is followed or run, and whatever cannot be a task is refused in one
line with its file and field.
"""

import json
import os
import posixpath
import re
import shutil
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from itertools import chain
from pathlib import Path
from typing import Any

import yaml
from msgspec import Struct
from msgspec.structs import replace

from skilljuror.base.errors import StudyError, UsageError
from skilljuror.base.files import StudyFolder, digest_tree, read_rows, replacement, sha256
from skilljuror.base.results import Generation
from skilljuror.base.review import MAX_ITEMS, RUBRIC_FILE, TaskRubric
from skilljuror.base.skill import Blob, class_of
from skilljuror.base.study import (
    NUMBER,
    TRIGGER_FILE,
    Condition,
    Exclusion,
    SkillSource,
    TaskEntry,
    TaskTrigger,
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
from skilljuror.layouts.layouts.without_section import PREFIX, titles_of
from skilljuror.skill.bundles import load_bundle, write_bundle
from skilljuror.skill.critical_tokens import critical_tokens
from skilljuror.skill.markdown import slug
from skilljuror.study.plan import freeze, load_study

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


def init_study(source: StudySource, out: Path) -> NewStudy:
    """Write a study file; an equal existing one stays.

    Raises UsageError for an invalid source and for a different file at `out`.
    """
    _check(source)
    base = out.parent
    if not base.is_dir():
        raise StudyError(f"{str(out)!r}: folder {str(base)!r} not found; create it first")
    skills, drafts = tasks_of_evals(source.evals, base) if source.evals else ({}, [])
    folders = {f"{TASKS}/{draft.name}": draft.content() for draft in drafts} | skills
    lacks = {draft.name: (NO_INPUT, draft.lacks) for draft in drafts if draft.lacks}
    with placed(folders, base):
        if source.evals:
            source = replace(source, skill=base / next(iter(skills)))
        arms = _conditions(source, base)
        skill = relative(source.skill, base) if source.skill and not source.revisions else None
        entries = [
            TaskEntry(path=relative(folder, base), skills=skill)
            for folder in _folders(source, [base / TASKS / draft.name for draft in drafts])
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
    several = (source.tasks, source.tasks_dir, source.skillsbench, source.evals)
    if len([way for way in several if way]) != 1:
        raise UsageError("name the tasks in one way: --task, --tasks, --skillsbench or --evals")
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


def _folders(source: StudySource, converted: Sequence[Path]) -> Sequence[Path]:
    """List the task folders, sorted by the bytes of their names."""
    if source.tasks:
        return source.tasks
    top = source.skillsbench / "tasks" if source.skillsbench else source.tasks_dir
    ready = (path.parent for path in top.glob("*/task.toml")) if top else ()
    folders = sorted((*ready, *converted), key=lambda folder: os.fsencode(folder.name))
    if not folders:
        raise StudyError(
            f"{str(top)!r} has no task; a task is a folder with a task.toml",
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
        named = source.skill or source.tasks_dir or source.tasks[0]
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


# Tasks of a Skill's own evals

MAX_TASKS = 1_000
"""Evals and queries of a Skill."""
TASKS, SKILLS = "tasks", "skills"
"""Folders of converted tasks and their Skills beside the study file."""
SOURCE_FILE = "source.json"
"""File of a converted task that says where it came from."""
DOCKERFILE = "FROM ubuntu:24.04\nWORKDIR /app\nCOPY . /app/\n"
"""Environment of a task that brings none."""
EVALS = "evals"
_ITEMS = ("assertions", "expectations")
"""Names of an eval's list of assertions, the newer first."""
_TEXTS = ("text", "description", "check")
"""Names of the text of an assertion that is an object."""
_QUERIES = ("query", "prompt")
_SPLIT = {"should_trigger": True, "should_not_trigger": False}
"""Names of the two lists of trigger queries, where they are parted."""
_DISTINCTIVE = ("num:", "code:", "path:", "flag:")
"""Critical tokens that tell one text from another."""


class TaskDraft(Struct, frozen=True):
    """A task folder to write."""

    name: str
    files: dict[str, Blob]
    """Path in the folder -> content; the settings, the origin and a Dockerfile are added."""
    source: str
    """evals or trigger."""
    origin: dict[str, Any]
    """Content of source.json: path, digest, Skill and item."""
    lacks: str | None = None
    """Why the task cannot be run as it is, for its exclusion."""

    def content(self) -> dict[str, Blob]:
        """Every file of the folder."""
        origin = {"kind": self.source, **self.origin}
        added = {
            "task.toml": f'schema_version = "1.4"\n\n[metadata]\nsource = "{self.source}"\n',
            SOURCE_FILE: json.dumps(origin, indent=1, ensure_ascii=False) + "\n",
        }
        if not any(path.startswith("environment/") for path in self.files):
            added["environment/Dockerfile"] = DOCKERFILE
        return self.files | {path: Blob(text.encode()) for path, text in added.items()}


def refused(file: Path | str, field: str, problem: str) -> StudyError:
    """Return the error for a field of a source."""
    return StudyError(f"{str(file)!r}: {field}: {problem}", file=str(file), field=field)


def text_at(value: Any, file: Path, field: str) -> str:
    """Return a text of a source. Raises StudyError if it is empty or not text."""
    if not isinstance(value, str) or not value.strip():
        what = "empty" if isinstance(value, str) else f"a {type(value).__name__}"
        raise refused(file, field, f"is {what}; write a text")
    if "\0" in value or any("\ud800" <= char <= "\udfff" for char in value):
        raise refused(file, field, "has a NUL or half of a character; remove it")
    return value


def relative(path: Path, base: Path) -> str:
    """A path relative to the study file's folder, with links resolved."""
    place, start = path.parent.resolve() / path.name, base.resolve()
    common = next(folder for folder in (start, *start.parents) if place.is_relative_to(folder))
    up = [".."] * len(start.relative_to(common).parts)
    return str(Path(*up, place.relative_to(common)))


@contextmanager
def placed(folders: Mapping[str, dict[str, Blob]], base: Path) -> Iterator[None]:
    """Write folders, by path relative to `base`, for the block; remove the new ones if it fails.

    An equal existing folder stays. Raises StudyError for a different one, before anything is in place.
    """
    parents = [base / parent for parent in (TASKS, SKILLS) if not (base / parent).exists()]
    new = [path for path in folders if not (base / path).exists()]
    with tempfile.TemporaryDirectory(dir=base, prefix=".init-") as staging, ExitStack() as undo:
        for path, files in folders.items():
            write_bundle(files, Path(staging, path))
            target = base / path
            same = target.is_dir() and digest_tree(Path(staging, path)) == digest_tree(target)
            if path not in new and not same:
                raise StudyError(
                    f"{str(target)!r} already exists; move it away, or write the study into another folder with --out",
                    file=str(target),
                )
        for parent in parents:
            undo.callback(shutil.rmtree, parent, ignore_errors=True)
        for path in new:
            undo.callback(shutil.rmtree, base / path, ignore_errors=True)
            (base / path).parent.mkdir(parents=True, exist_ok=True)
            Path(staging, path).rename(base / path)
        yield
        undo.pop_all()


class _EvalSkill(Struct, frozen=True):
    """The Skill whose evals are read."""

    folder: Path
    name: str
    directory: str
    """Name of its folder."""
    files: dict[str, Blob]
    """Path in the Skill's folder -> content."""
    offered: dict[str, Blob]
    """The files that a trial offers: evals/ would tell an agent what it is judged by."""
    text: str
    """Every text that a trial offers."""


def tasks_of_evals(folder: Path, base: Path) -> tuple[dict[str, dict[str, Blob]], list[TaskDraft]]:
    """Return the Skill to offer, by its path from `base`, and a task for each eval and trigger query.

    Raises StudyError and BundleError with file, field and fix.
    """
    bundle = load_bundle(folder, inspect=False)
    if len(bundle.skills) != 1:
        raise StudyError(
            f"--evals {str(folder)!r} has {len(bundle.skills)} Skills; name the folder of one Skill",
            file=str(folder),
        )
    (skill,) = bundle.skills
    inner = f"{skill.directory}/"
    files = {
        path.removeprefix(inner): blob
        for path, blob in bundle.files.items()
        if path.startswith(inner)
    }
    offered = {path: blob for path, blob in files.items() if not path.startswith(f"{EVALS}/")}
    text = "\n".join(filter(None, (blob.text for blob in offered.values())))
    place = folder if (folder / Path(skill.path).name).is_file() else folder / skill.directory
    directory = posixpath.basename(skill.directory)
    found = _EvalSkill(place, skill.name, directory, files, offered, text)
    drafts: dict[str, TaskDraft] = {}
    for draft in chain.from_iterable(_drafts_of(found, path, base) for path in sorted(files)):
        if draft.name in drafts:
            item, other = drafts[draft.name].origin["item"], draft.origin["item"]
            raise refused(place / EVALS, other, f"has the same id as {item}; give each its own")
        drafts[draft.name] = draft
    if not drafts:
        raise StudyError(
            f"{str(place / EVALS)!r} has neither evals.json, with a list `evals`, nor a list of trigger queries",
            file=str(place / EVALS),
        )
    if len(drafts) > MAX_TASKS:
        raise StudyError(
            f"{str(place / EVALS)!r} has {len(drafts)} evals and queries; use at most {MAX_TASKS}"
        )
    return {f"{SKILLS}/{directory}": offered}, [*drafts.values()]


def _drafts_of(skill: _EvalSkill, path: str, base: Path) -> Iterator[TaskDraft]:
    """The tasks of one file of evals/; none for a file of another kind."""
    folder, name = posixpath.split(path)
    if folder != EVALS or not name.endswith(".json"):
        return
    file, content = skill.folder / path, skill.files[path].data
    data = None
    try:
        data = json.loads(content.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        if name == "evals.json":
            why = str(error).splitlines()[0]
            raise refused(file, "(whole file)", f"is not JSON: {why}; correct it") from error
    origin = {
        "path": relative(file, base),
        "digest": sha256(content),
        "commit": None,
        "skill": skill.name,
    }
    if name == "evals.json":
        for number, row in _eval_rows(data, file):
            yield _eval_task(skill, row, file, number, origin)
    for field, query, expected in _queries(data):
        text = text_at(query, file, field)
        named = slug(f"{'' if file.stem == EVALS else file.stem} {field}")
        trigger = TaskTrigger(should_trigger=expected, skill=skill.directory)
        yield TaskDraft(
            name=f"{slug(skill.name)}-trigger-{named}",
            files={
                "instruction.md": Blob(f"{text.rstrip()}\n".encode()),
                f"tests/{TRIGGER_FILE}": Blob(_as_json(trigger)),
            },
            source="trigger",
            origin={**origin, "item": field},
        )


def _eval_rows(data: Any, file: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Number and content of each eval that is not a trigger query."""
    rows = data.get("evals") if isinstance(data, dict) else None
    if not isinstance(rows, list):
        kind = type(data).__name__
        held = ", ".join(map(str, list(data)[:8])) if isinstance(data, dict) else kind
        raise refused(file, "evals", f"is not a list; the file has: {held or 'nothing'}")
    for number, row in enumerate(rows):
        if not isinstance(row, dict):
            problem = f"is a {type(row).__name__}; write an object with a prompt"
            raise refused(file, f"evals[{number}]", problem)
        if not _is_query(row):
            yield number, row


def _as_json(record: TaskRubric | TaskTrigger) -> bytes:
    text = json.dumps(record.model_dump(exclude_defaults=True), indent=1, ensure_ascii=False)
    return f"{text}\n".encode()


def _is_query(row: dict[str, Any]) -> bool:
    """Whether a row asks only whether the Skill is opened."""
    return isinstance(row.get("should_trigger"), bool) and not any(map(row.get, _ITEMS))


def _queries(data: Any) -> Iterator[tuple[str, Any, bool]]:
    """Field, query and whether it should trigger, of a list of objects or of two lists."""
    if isinstance(data, dict):
        for name in ("trigger_evaluation", "evals", "queries"):
            for field, query, expected in _queries(data.get(name)):
                yield f"{name}{'' if field.startswith('[') else '.'}{field}", query, expected
        for name, expected in _SPLIT.items():
            rows = data.get(name)
            for number, query in enumerate(rows if isinstance(rows, list) else []):
                yield f"{name}[{number}]", query, expected
    for number, row in enumerate(data if isinstance(data, list) else []):
        if isinstance(row, dict) and _is_query(row):
            query = next((row[name] for name in _QUERIES if row.get(name)), None)
            yield f"[{number}]", query, row["should_trigger"]


def _eval_task(
    skill: _EvalSkill, row: dict[str, Any], file: Path, number: int, origin: dict[str, Any]
) -> TaskDraft:
    """An eval as a task whose rubric is its assertions. An item is of the group following if distinctive tokens
    are in the Skill's text and not in what the task says, none in neither; else of the goal."""
    field = f"evals[{number}]"
    prompt = text_at(row.get("prompt"), file, f"{field}.prompt")
    inputs, own, missing = _inputs(skill, row.get("files"), prompt, file, f"{field}.files")
    seen = "\n".join([prompt, *filter(None, (blob.text for blob in inputs.values()))])
    items = []
    for name, text in _items(row, file, field):
        tokens = [
            token.partition(":")[2].partition("|")[0]
            for token in critical_tokens(text)
            if token.startswith(_DISTINCTIVE)
        ]
        lacking = [token for token in tokens if not _has(seen, token)]
        follows = lacking and all(_has(skill.text, token) for token in lacking)
        items.append({"id": name, "text": text, "group": "following" if follows else "goal"})
    rubric = TaskRubric.model_validate({"name": EVALS, "items": items})
    named = row["id"] if isinstance(row.get("id"), str | int) else row.get("name")
    return TaskDraft(
        name=f"{slug(skill.name)}-eval-{slug(str(named), empty=str(number))}",
        files={
            "instruction.md": Blob(f"{prompt.rstrip()}\n".encode()),
            f"tests/{RUBRIC_FILE}": Blob(_as_json(rubric)),
            **{f"environment/{path}": blob for path, blob in inputs.items()},
        },
        source="evals",
        origin={**origin, "item": field, "of_skill": own},
        lacks=f"{field}.files: {', '.join(missing)} not found in the Skill" if missing else None,
    )


def _has(text: str, token: str) -> bool:
    return re.search(rf"(?<![\w.]){re.escape(token)}(?!\w)", text) is not None


def _items(row: dict[str, Any], file: Path, field: str) -> Iterator[tuple[str, str]]:
    """Id and text of each assertion; without any, the expected output is the only one."""
    name = next((name for name in _ITEMS if row.get(name)), None)
    if name is None:
        expected = row.get("expected_output")
        if not expected:
            problem = "has neither assertions nor expected_output, so nothing judges it; write one"
            raise refused(file, field, problem)
        yield "expected_output", text_at(expected, file, f"{field}.expected_output")
        return
    listed, field = row[name], f"{field}.{name}"
    if not isinstance(listed, list) or len(listed) > MAX_ITEMS:
        raise refused(file, field, f"is not a list of at most {MAX_ITEMS} assertions")
    for number, item in enumerate(listed, 1):
        text = item
        if isinstance(item, dict):
            text = next((item[key] for key in _TEXTS if item.get(key)), None)
        yield str(number), text_at(text, file, f"{field}[{number - 1}]")


def _inputs(
    skill: _EvalSkill, listed: Any, prompt: str, file: Path, field: str
) -> tuple[dict[str, Blob], list[str], list[str]]:
    """Input files by their place in the environment; listed files of the Skill itself, which only a trial with
    the Skill has; and names that are in neither."""
    inputs, own, missing = dict[str, Blob](), list[str](), list[str]()
    if not isinstance(listed or [], list):
        raise refused(file, field, f"is a {type(listed).__name__}; write a list of paths")
    for number, entry in enumerate(listed or []):
        name = text_at(entry, file, f"{field}[{number}]")
        inner = posixpath.normpath(name)
        if inner.startswith(("/", "../")) or inner in {".", ".."} or "\\" in name:
            problem = f"{name!r} is not inside the Skill; use a relative path"
            raise refused(file, f"{field}[{number}]", problem)
        below = {
            path: skill.files[path]
            for whole in (inner, f"{EVALS}/{inner}")
            for path in skill.files
            if path == whole or path.startswith(f"{whole}/")
        }
        if not below:
            missing.append(name)
        for path, blob in below.items():
            if not path.startswith(f"{EVALS}/") and class_of(path) != "data":
                own.append(path)
            else:
                inputs[_place(path, inner, prompt, inputs)] = blob
    return inputs, own, missing


def _place(path: str, listed: str, prompt: str, taken: dict[str, Blob]) -> str:
    """Where an input lies in the working directory: at the path that the prompt names, else by its name in its
    listed folder; by its whole path if that is taken."""
    parts = path.split("/")
    ends = ["/".join(parts[start:]) for start in range(len(parts))]
    named = next((end for end in ends if "/" in end and end in prompt), None)
    folder = posixpath.dirname(listed)
    short = path.split(f"{folder}/", 1)[-1] if folder else path.removeprefix(f"{EVALS}/")
    place = named or short
    return path if place in taken else place
