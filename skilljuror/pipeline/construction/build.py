"""Build the variants of a source, prove each from disk, and write the audit record."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from msgspec import structs

import skilljuror
from skilljuror.bundles import load_bundle, write_bundle
from skilljuror.bundles.reader import make_bundle, source_slug
from skilljuror.errors import SkilljurorError, StudyError, TransformError
from skilljuror.files import fresh_dir, read_record, sha256, write_jsonl, write_record
from skilljuror.gates.policies import worst
from skilljuror.knowledge.comparison.unit_map import knowledge_map
from skilljuror.knowledge.plans.render import rebuild, render
from skilljuror.knowledge.plans.verify import verify, verify_control
from skilljuror.models.build import BuildRecord
from skilljuror.models.bundle import Blob, Bundle
from skilljuror.models.gate import GateResult
from skilljuror.models.plan import Plan
from skilljuror.pipeline.construction.audit import audit, inherit, waive_declared
from skilljuror.pipeline.construction.manifest import manifest, plan_from_json, plan_to_json
from skilljuror.pipeline.construction.target import GATE_RESULTS, RECORD, VARIANTS, safe_target
from skilljuror.pipeline.workers import infrequent_gc, map_unordered
from skilljuror.registry import resolve
from skilljuror.tokens import tokenizer_name
from skilljuror.transforms import TRANSFORMS
from skilljuror.transforms.base import Transform

DEFAULT_VARIANTS = ("origin", "origin-flat", "baseline", "pd")
BLANKS = (b"", b"\n", b"\r\n", b"\n\n", b" \n")
"""What a file without content holds; such a file is in no variant but the origin."""
KNOWLEDGE = "knowledge.jsonl"


def build_source(
    source: Path,
    target: Path,
    *,
    variants: Sequence[str] = DEFAULT_VARIANTS,
    options: dict[str, Any] | None = None,
) -> BuildRecord:
    """Build `variants` of the bundle at `source` into the folder `target`, whole or not at all.

    Each variant is written, loaded again from disk and proved against its parent; a variant that
    cannot be proved raises TransformError and nothing is written. Raises BundleError for a source
    that cannot be read safely, UsageError for a target that holds what no build made.
    """
    options = dict(options or {})
    place = safe_target(target, source)
    bundle = load_bundle(source, options.get("name"))
    with infrequent_gc(), fresh_dir(place) as staging:
        work = Work(bundle, staging)
        for transform in transforms_in_order(variants):
            work.by_plan(transform, options)
        return work.finish("plan", options)


class Step(NamedTuple):
    """How one variant came about."""

    variant: str
    parent: str
    plan: Plan | None
    """None for text that no plan accounts for."""
    policy: str
    """Policy its gates follow."""
    kind: str
    """Layout that it is judged as: its own name, or what a control stands for."""
    expected: tuple[str, ...] = ()
    """Rules that a control is declared to break; empty for any other variant."""


class Work:
    """A build in the making: what was made so far, in a staging folder."""

    def __init__(self, bundle: Bundle, staging: Path) -> None:
        self.staging = staging
        self.made: dict[str, Bundle] = {"source": bundle}
        self.steps: list[Step] = []

    def by_plan(self, transform: Transform, options: dict[str, Any]) -> None:
        """Make a variant by a plan and prove it from disk. Raises TransformError."""
        parent = self.made[transform.parent]
        plan = transform.plan(parent, options)
        name, expected = transform.variant, declared(transform)
        kind = getattr(transform, "stands_for", name)
        made = self._written(name, render(plan, parent))
        if not self._is_proved(plan, made):
            _prove(plan, parent, made, control=bool(expected))
        self.steps.append(Step(name, transform.parent, plan, "strict", kind, expected))

    def _is_proved(self, plan: Plan, made: Bundle) -> bool:
        """Whether another variant has the same files by the same plan: of a source with one skill,
        origin-flat and baseline do."""
        return any(
            step.plan == structs.replace(plan, variant=step.variant)
            and self.made[step.variant].files == made.files
            for step in self.steps
        )

    def by_hand(self, variant: str, parent: str, files: dict[str, Blob]) -> None:
        """Take a variant that somebody wrote; its gates follow the policy for such text."""
        self._written(variant, files)
        self.steps.append(Step(variant, parent, None, "llm", variant))

    def _written(self, variant: str, files: dict[str, Blob]) -> Bundle:
        folder = self.staging / VARIANTS / variant
        write_bundle(files, folder)
        self.made[variant] = load_bundle(folder, self.made["source"].name, inspect=False)
        return self.made[variant]

    def finish(self, engine: str, options: dict[str, Any]) -> BuildRecord:
        """Judge every variant; write the record, the gates' answers and the knowledge map."""
        results = [result for step in self.steps for result in self._judge(step)]
        record = _record(self, results, engine, options)
        write_record(self.staging / RECORD, record)
        write_jsonl(self.staging / GATE_RESULTS, results)
        told = {step.variant: self.made[step.variant] for step in self.steps}
        write_jsonl(self.staging / KNOWLEDGE, knowledge_map(self.made["source"], told))
        return record

    def _judge(self, step: Step) -> Iterator[GateResult]:
        """What every gate says about a variant and the one it is made from."""
        source, variant = self.made["source"], self.made[step.variant]
        judged = audit(self.made[step.parent], variant, step.kind, step.policy)
        if step.parent != "source" and judged.verdict != "pass":
            judged = inherit(judged, audit(source, variant, step.kind, step.policy))
        judged = waive_declared(judged, step.expected)
        for result in judged.results:
            yield result.model_copy(update={"variant": step.variant, "parent": step.parent})


def build_many(
    sources: Sequence[Path],
    target: Path,
    jobs: int = 1,
    *,
    variants: Sequence[str] = DEFAULT_VARIANTS,
    options: dict[str, Any] | None = None,
) -> Iterator[tuple[str, BuildRecord | SkilljurorError]]:
    """(name, record) for each source as it is done, each a whole build in `target/<name>/`.

    A source that fails yields its error in place of the record; the others go on. Names are the
    slugs of the sources; a repeated one gets -2, -3, …
    """
    tasks = [
        (name, source, target / name, tuple(variants), dict(options or {}))
        for name, source in zip(names_of(sources), sources, strict=True)
    ]
    for task, done in map_unordered(_build_task, tasks, jobs):
        yield task[0], done


Task = tuple[str, Path, Path, tuple[str, ...], dict[str, Any]]


def _build_task(task: Task) -> BuildRecord | SkilljurorError:
    name, source, target, variants, options = task
    try:
        return build_source(source, target, variants=variants, options={"name": name, **options})
    except SkilljurorError as error:
        return error


def names_of(sources: Sequence[Path]) -> list[str]:
    """A distinct name for each source: its slug; a repeated one gets -2, -3, …"""
    names: list[str] = []
    for source in sources:
        base = source_slug(source.resolve().name.removesuffix(".skill").removesuffix(".zip"))
        count, name = 2, base
        while name in names:
            name, count = f"{base}-{count}", count + 1
        names.append(name)
    return names


def transforms_in_order(variants: Sequence[str]) -> Iterator[Transform]:
    """The transforms asked for, each after the one it is made from."""
    done: set[str] = {"source"}
    wanted = list(dict.fromkeys(variants))
    while wanted:
        name = wanted.pop(0)
        transform: Transform = resolve(TRANSFORMS, name, "variant")()
        if transform.parent not in done:
            wanted = [transform.parent, name, *(one for one in wanted if one != transform.parent)]
            continue
        done.add(transform.variant)
        yield transform


def declared(transform: Transform) -> tuple[str, ...]:
    """The rules that a control is declared to break; empty for a transform that keeps knowledge."""
    return tuple(getattr(transform, "expected", ()))


def _prove(plan: Plan, parent: Bundle, variant: Bundle, *, control: bool) -> None:
    problems = (verify_control if control else verify)(plan, parent, variant)
    if problems:
        raise TransformError(
            f"variant {plan.variant!r} of {parent.name!r} is not proved: {problems[0]}; this is a "
            "fault of the transform, please report it with the source"
        )


def _record(
    work: Work, results: Sequence[GateResult], engine: str, options: dict[str, Any]
) -> BuildRecord:
    source = work.made["source"]
    steps = sorted(work.steps, key=lambda step: step.variant)
    verdicts = {
        step.variant: worst(result.verdict for result in results if result.variant == step.variant)
        for step in steps
    }
    return BuildRecord(
        name=source.name,
        skilljuror_version=skilljuror.__version__,
        engine=engine,
        options=options,
        tokenizer=tokenizer_name(),
        source=manifest("source", None, source),
        variants=tuple(
            manifest(
                step.variant,
                step.parent,
                work.made[step.variant],
                verdicts[step.variant],
                step.expected,
            )
            for step in steps
        ),
        plans={step.variant: plan_to_json(step.plan) for step in steps if step.plan},
        issues=tuple(
            {
                "rule": issue.rule,
                "severity": issue.severity,
                "file": issue.file,
                "line": issue.line,
                "message": issue.message,
            }
            for issue in source.issues
        ),
    )


def load_build(target: Path) -> BuildRecord:
    """The record of a build. Raises StudyError when it is missing or wrong."""
    if not (target / RECORD).is_file():
        raise StudyError(
            f"no build at {str(target)!r}: it holds no {RECORD}; name what `skilljuror build` wrote",
            file=str(target),
        )
    return read_record(BuildRecord, target / RECORD)


def unproved(target: Path) -> tuple[str, ...]:
    """The variants of a build that no plan accounts for: of their text only the gates can tell."""
    record = load_build(target)
    return tuple(entry.variant for entry in record.variants if entry.variant not in record.plans)


def verify_build(target: Path) -> tuple[str, ...]:
    """Every reason why the build on disk is not what its record says; empty means proved again.

    The source is not asked for: the origin variant stands for it, or else it is put together from
    a variant and its plan, and must have the digest on record. Of a variant without a plan only the
    digest is compared: its gates are all there is to say about its text.
    """
    record = load_build(target)
    made: dict[str, Bundle] = {}
    problems: list[str] = []
    for entry in record.variants:
        made[entry.variant] = load_bundle(
            target / VARIANTS / entry.variant, record.name, inspect=False
        )
        if made[entry.variant].digest != entry.tree_digest:
            problems.append(f"{entry.variant}: the files are not those that were built")
    source = source_of(record, made)
    if source is not None:
        made["source"] = source
    for entry in record.variants:
        if entry.variant not in record.plans:
            continue
        plan = plan_from_json(record.plans[entry.variant])
        parent = made.get(entry.parent or "")
        if parent is None:
            problems.append(f"{entry.variant}: its parent {entry.parent!r} is not in the build")
            continue
        check = verify_control if entry.expected_findings else verify
        problems += [
            f"{entry.variant}: {told}" for told in check(plan, parent, made[entry.variant])
        ]
    return tuple(problems)


def source_of(record: BuildRecord, made: dict[str, Bundle]) -> Bundle | None:
    """The source with the digest on record, out of the variants; None when none gives it."""
    for entry in record.variants:
        if entry.parent != "source" or entry.variant not in record.plans:
            continue
        plan = plan_from_json(record.plans[entry.variant])
        found = _put_together(record, plan, made[entry.variant])
        if found is not None and found.digest == record.source.tree_digest:
            return found
    return None


def _put_together(record: BuildRecord, plan: Plan, variant: Bundle) -> Bundle | None:
    """The files on record as the variant and its plan tell them; what no variant carries is blank."""
    try:
        told, problems = rebuild(plan, variant.files)
    except TransformError:
        return None
    for target, path in plan.sidecars.items():
        if target in variant.files:
            told[path] = variant.files[target].data
    blank = {sha256(data): data for data in BLANKS}
    told |= {one.path: blank[one.sha256] for one in record.source.files if one.sha256 in blank}
    if problems or told.keys() != {one.path for one in record.source.files}:
        return None
    files = {one.path: Blob(told[one.path], one.executable) for one in record.source.files}
    return make_bundle(record.name, files)
