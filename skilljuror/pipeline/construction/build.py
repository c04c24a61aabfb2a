"""Build the variants of a source, prove each from disk, and write the audit record."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
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
from skilljuror.models.gate import AuditResult, GateResult
from skilljuror.models.plan import Plan
from skilljuror.pipeline.construction.audit import (
    audit,
    inherit_from_source,
    load_gates,
    waive_declared,
)
from skilljuror.pipeline.construction.build_folder import (
    GATE_RESULTS,
    RECORD,
    VARIANTS,
    safe_target,
)
from skilljuror.pipeline.construction.manifests import (
    plan_from_json,
    plan_to_json,
    variant_manifest,
)
from skilljuror.pipeline.workers import infrequent_gc, map_unordered
from skilljuror.registry import resolve
from skilljuror.tokens import tokenizer_name
from skilljuror.transforms import TRANSFORMS
from skilljuror.transforms.base import Transform

DEFAULT_VARIANTS = ("origin", "origin-flat", "baseline", "pd")
BLANK_FILES = (b"", b"\n", b"\r\n", b"\n\n", b" \n")
"""What a file without content may hold; such a file is in no variant but the origin."""
KNOWLEDGE = "knowledge.jsonl"


def build_source(
    source: Path,
    target: Path,
    *,
    variants: Sequence[str] = DEFAULT_VARIANTS,
    options: dict[str, Any] | None = None,
    gates: Sequence[str] = (),
) -> BuildRecord:
    """Build `variants` of the bundle at `source` into the folder `target`, whole or not at all.

    `gates` judge the variants beside those of the registry. Each variant is written, loaded again from disk and proved against its parent; a variant that
    cannot be proved raises TransformError and nothing is written. Raises BundleError for a source
    that cannot be read safely, UsageError for an unknown variant or gate, and for a target that holds what
    no build made.
    """
    options = dict(options or {})
    load_gates(gates)
    place = safe_target(target, source)
    bundle = load_bundle(source, options.get("name"))
    with infrequent_gc(), fresh_dir(place) as staging:
        build = BuildInProgress(bundle, staging, gates)
        for transform in transforms_in_order(variants):
            build.add_planned(transform, options)
        return build.finish("plan", options)


class BuiltVariant(NamedTuple):
    """How one variant was made."""

    variant: str
    parent: str
    plan: Plan | None
    """None for text that no plan accounts for."""
    policy: str
    """Policy that its gates follow."""
    kind: str
    """Layout that it is judged as: its own name, or what a control stands for."""
    expected: tuple[str, ...] = ()
    """Rules that a control is declared to break; empty for any other variant."""


class BuildInProgress:
    """A build in the making: the variants made so far, in a staging folder."""

    def __init__(self, bundle: Bundle, staging: Path, gates: Sequence[str] = ()) -> None:
        self.staging = staging
        self.gates = gates
        self.bundles: dict[str, Bundle] = {"source": bundle}
        """Variant, or "source", -> its files."""
        self.variants: list[BuiltVariant] = []
        """The variants in the order in which they were made."""

    def add_planned(self, transform: Transform, options: dict[str, Any]) -> None:
        """Make a variant by a plan and prove it from disk. Raises TransformError."""
        parent = self.bundles[transform.parent]
        plan = transform.plan(parent, options)
        name, expected = transform.variant, declared_findings(transform)
        kind = getattr(transform, "stands_for", name)
        bundle = self._write(name, render(plan, parent))
        if not self._is_proved(plan, bundle):
            _prove(plan, parent, bundle, control=bool(expected))
        self.variants.append(BuiltVariant(name, transform.parent, plan, "strict", kind, expected))

    def _is_proved(self, plan: Plan, bundle: Bundle) -> bool:
        """Whether another variant has the same files by the same plan: of a source with one skill,
        origin-flat and baseline do."""
        return any(
            other.plan == structs.replace(plan, variant=other.variant)
            and self.bundles[other.variant].files == bundle.files
            for other in self.variants
        )

    def add_written(self, variant: str, parent: str, files: dict[str, Blob]) -> None:
        """Take a variant that somebody wrote; its gates follow the policy for such text."""
        self._write(variant, files)
        self.variants.append(BuiltVariant(variant, parent, None, "edited", variant))

    def _write(self, variant: str, files: dict[str, Blob]) -> Bundle:
        folder = self.staging / VARIANTS / variant
        write_bundle(files, folder)
        self.bundles[variant] = load_bundle(folder, self.bundles["source"].name, inspect=False)
        return self.bundles[variant]

    def finish(self, engine: str, options: dict[str, Any]) -> BuildRecord:
        """Judge every variant; write the record, the gates' answers and the knowledge map."""
        results = [result for built in self.variants for result in self._judge(built)]
        record = _record(self, results, engine, options)
        write_record(self.staging / RECORD, record)
        write_jsonl(self.staging / GATE_RESULTS, results)
        bundles = {built.variant: self.bundles[built.variant] for built in self.variants}
        write_jsonl(self.staging / KNOWLEDGE, knowledge_map(self.bundles["source"], bundles))
        return record

    def _judge(self, built: BuiltVariant) -> Iterator[GateResult]:
        """What every gate says about a variant and the one it is made from."""
        judged = self._audit(built.parent, built)
        if built.parent != "source" and judged.verdict != "pass":
            judged = inherit_from_source(judged, self._audit("source", built))
        judged = waive_declared(judged, built.expected)
        for result in judged.results:
            yield result.model_copy(update={"variant": built.variant, "parent": built.parent})

    def _audit(self, parent: str, built: BuiltVariant) -> AuditResult:
        bundles = self.bundles[parent], self.bundles[built.variant]
        return audit(*bundles, built.kind, built.policy, gates=self.gates)


def build_named(source: Path, target: Path, **chosen: Any) -> BuildRecord:
    """`build_source`, the build called by the name of its folder."""
    return build_source(source, target, options={"name": target.name}, **chosen)


def build_many(
    sources: Sequence[Path],
    target: Path,
    build: Callable[[Path, Path], BuildRecord] = build_named,
    jobs: int = 1,
) -> Iterator[tuple[str, BuildRecord | SkilljurorError]]:
    """(name, record) for each source as it is done, each a whole build in `target/<name>/`.

    `build` makes one of (source, folder), in a worker process where `jobs` are several. A source that
    fails yields its error in place of the record; the others go on. Names are those of `names_for`.
    """
    tasks = [
        (source, target / name) for name, source in zip(names_for(sources), sources, strict=True)
    ]
    for (_, folder), done in map_unordered(partial(_record_or_error, build), tasks, jobs):
        yield folder.name, done


def _record_or_error(
    build: Callable[[Path, Path], BuildRecord], task: tuple[Path, Path]
) -> BuildRecord | SkilljurorError:
    try:
        return build(*task)
    except SkilljurorError as error:
        return error


def names_for(sources: Sequence[Path]) -> list[str]:
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
        transform = load_transform(name)
        if transform.parent not in done:
            wanted = [transform.parent, name, *(one for one in wanted if one != transform.parent)]
            continue
        done.add(transform.variant)
        yield transform


def load_transform(name: str) -> Transform:
    """The transform that makes a variant. Raises UsageError for an unknown one."""
    transform: Transform = resolve(TRANSFORMS, name, "variant", Transform)()
    return transform


def declared_findings(transform: Transform) -> tuple[str, ...]:
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
    build: BuildInProgress, results: Sequence[GateResult], engine: str, options: dict[str, Any]
) -> BuildRecord:
    source = build.bundles["source"]
    variants = sorted(build.variants, key=lambda built: built.variant)
    verdicts = {
        built.variant: worst(
            result.verdict for result in results if result.variant == built.variant
        )
        for built in variants
    }
    return BuildRecord(
        name=source.name,
        skilljuror_version=skilljuror.__version__,
        engine=engine,
        options=options,
        gates=tuple(build.gates),
        tokenizer=tokenizer_name(),
        source=variant_manifest("source", None, source),
        variants=tuple(
            variant_manifest(
                built.variant,
                built.parent,
                build.bundles[built.variant],
                verdicts[built.variant],
                built.expected,
            )
            for built in variants
        ),
        plans={built.variant: plan_to_json(built.plan) for built in variants if built.plan},
        issues=tuple(structs.asdict(issue) for issue in source.issues),
    )


def load_build(target: Path) -> BuildRecord:
    """The record of a build. Raises StudyError when it is missing or wrong."""
    if not (target / RECORD).is_file():
        raise StudyError(
            f"no build at {str(target)!r}: it holds no {RECORD}; name what `skilljuror build` wrote",
            file=str(target),
        )
    return read_record(BuildRecord, target / RECORD)


def unproved_variants(target: Path) -> tuple[str, ...]:
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
    bundles: dict[str, Bundle] = {}
    problems: list[str] = []
    for entry in record.variants:
        folder = target / VARIANTS / entry.variant
        bundles[entry.variant] = load_bundle(folder, record.name, inspect=False)
        if bundles[entry.variant].digest != entry.tree_digest:
            problems.append(f"{entry.variant}: the files are not those that were built")
    source = source_from(record, bundles)
    if source is not None:
        bundles["source"] = source
    for entry in record.variants:
        if entry.variant not in record.plans:
            continue
        plan = plan_from_json(record.plans[entry.variant])
        parent = bundles.get(entry.parent or "")
        if parent is None:
            problems.append(f"{entry.variant}: its parent {entry.parent!r} is not in the build")
            continue
        check = verify_control if entry.expected_findings else verify
        found = check(plan, parent, bundles[entry.variant])
        problems += [f"{entry.variant}: {problem}" for problem in found]
    return tuple(problems)


def source_from(record: BuildRecord, bundles: dict[str, Bundle]) -> Bundle | None:
    """The source with the digest on record, rebuilt from a variant and its plan; None when none
    gives it."""
    for entry in record.variants:
        if entry.parent != "source" or entry.variant not in record.plans:
            continue
        plan = plan_from_json(record.plans[entry.variant])
        source = _rebuild_source(record, plan, bundles[entry.variant])
        if source is not None and source.digest == record.source.tree_digest:
            return source
    return None


def _rebuild_source(record: BuildRecord, plan: Plan, variant: Bundle) -> Bundle | None:
    """The files on record as the variant and its plan tell them; what no variant carries is blank."""
    try:
        contents, problems = rebuild(plan, variant.files)
    except TransformError:
        return None
    for target, path in plan.sidecars.items():
        if target in variant.files:
            contents[path] = variant.files[target].data
    blank = {sha256(data): data for data in BLANK_FILES}
    contents |= {
        file.path: blank[file.sha256] for file in record.source.files if file.sha256 in blank
    }
    if problems or contents.keys() != {file.path for file in record.source.files}:
        return None
    files = {file.path: Blob(contents[file.path], file.executable) for file in record.source.files}
    return make_bundle(record.name, files)
