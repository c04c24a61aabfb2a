"""Build the variants of a source, prove each from disk, and write the audit record."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from msgspec import structs

import skilljuror
from skilljuror.bundles import load_bundle, write_bundle
from skilljuror.bundles.reader import source_slug
from skilljuror.bundles.tarball import tar_of
from skilljuror.errors import SkilljurorError, StudyError, TransformError
from skilljuror.files import (
    read_record,
    sha256,
    write_atomic,
    write_jsonl,
    write_record,
)
from skilljuror.gates.policies import worst
from skilljuror.knowledge.comparison.unit_map import knowledge_map
from skilljuror.knowledge.plans.render import render
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
    APART,
    DRAFTS,
    GATE_RESULTS,
    KNOWLEDGE,
    RECORD,
    SOURCE,
    VARIANTS,
    fresh_build,
    safe_target,
)
from skilljuror.pipeline.construction.code_digest import code_digest
from skilljuror.pipeline.construction.manifests import plan_to_json, variant_manifest
from skilljuror.pipeline.workers import infrequent_gc, map_unordered
from skilljuror.registry import resolve
from skilljuror.tokens import tokenizer_name
from skilljuror.transforms import TRANSFORMS
from skilljuror.transforms.base import Transform

DEFAULT_VARIANTS = ("origin", "origin-flat", "baseline", "pd")


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
    with fresh_build(place) as staging:
        return make_build(bundle, staging, PlanEngine(options), variants, gates)


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


class Engine(Protocol):
    """Who makes the variants of a build."""

    @property
    def name(self) -> str:
        """plan, assign or rewrite."""
        ...

    def make(self, build: "BuildInProgress", transform: Transform) -> None:
        """Make the variant of a transform. Raises TransformError."""
        ...

    def options(self) -> dict[str, Any]:
        """What the record tells about how the variants were made, once they are."""
        ...

    def keep(self, folder: Path) -> None:
        """Write into the build what its variants rest on besides the source."""
        ...


class PlanEngine:
    """Makes every variant by the plan of its transform."""

    name = "plan"

    def __init__(self, options: dict[str, Any]) -> None:
        self._options = options

    def make(self, build: "BuildInProgress", transform: Transform) -> None:
        """Make one variant and prove it. Raises TransformError."""
        build.add_planned(transform, self._options)

    def options(self) -> dict[str, Any]:
        """The options of the transforms."""
        return self._options

    def keep(self, folder: Path) -> None:
        """Nothing: a plan rests on its source alone."""


def make_build(
    bundle: Bundle,
    staging: Path,
    engine: Engine,
    variants: Sequence[str],
    gates: Sequence[str],
) -> BuildRecord:
    """Make a whole build of a loaded source in an empty folder; what `build` does and `verify` repeats.

    `variants` and `gates` are names of the registries, or module:attribute. Raises TransformError
    for a variant that cannot be made or proved.
    """
    with infrequent_gc():
        build = BuildInProgress(bundle, staging, gates)
        made_by = transforms_by_name(variants)
        for transform in made_by.values():
            engine.make(build, transform)
        return build.finish(engine, tuple(made_by))


class BuildInProgress:
    """A build in the making: the variants made so far, in a staging folder."""

    def __init__(self, bundle: Bundle, staging: Path, gates: Sequence[str] = ()) -> None:
        self.staging = staging
        self.gates = gates
        self.bundles: dict[str, Bundle] = {"source": bundle}
        """Variant, or "source", -> its files."""
        self.variants: list[BuiltVariant] = []
        """The variants in the order in which they were made."""
        self._judged: dict[str, list[GateResult]] = {}

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

    def add_written(
        self, variant: str, parent: str, files: dict[str, Blob]
    ) -> Sequence[GateResult]:
        """Take a variant that somebody wrote; what its gates say, by the policy for such text."""
        self._write(variant, files)
        built = BuiltVariant(variant, parent, None, "edited", variant)
        self.variants.append(built)
        self._judged[variant] = [*self._judge(built)]
        return self._judged[variant]

    def set_aside(self, number: int) -> None:
        """Put the last variant among the drafts, as number `number`: another text takes its place."""
        variant = self.variants.pop().variant
        place = self.staging / DRAFTS / variant / str(number)
        place.parent.mkdir(parents=True, exist_ok=True)
        (self.staging / VARIANTS / variant).rename(place)

    def _write(self, variant: str, files: dict[str, Blob]) -> Bundle:
        folder = self.staging / VARIANTS / variant
        write_bundle(files, folder)
        self.bundles[variant] = load_bundle(folder, self.bundles["source"].name, inspect=False)
        return self.bundles[variant]

    def finish(self, engine: Engine, transforms: tuple[str, ...]) -> BuildRecord:
        """Judge every variant; write the record and all that it stands for."""
        results = [
            result
            for built in self.variants
            for result in self._judged.get(built.variant) or self._judge(built)
        ]
        bundles = {built.variant: self.bundles[built.variant] for built in self.variants}
        write_jsonl(self.staging / GATE_RESULTS, results)
        write_jsonl(self.staging / KNOWLEDGE, knowledge_map(self.bundles["source"], bundles))
        write_atomic(self.staging / SOURCE, tar_of(self.bundles["source"]))
        engine.keep(self.staging)
        record = _record(self, results, engine, transforms)
        write_record(self.staging / RECORD, record)
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
    return iter(transforms_by_name(variants).values())


def transforms_by_name(variants: Sequence[str]) -> dict[str, Transform]:
    """Name -> transform of all that is asked for, each after the one it is made from."""
    ordered: dict[str, Transform] = {}
    done: set[str] = {"source"}
    wanted = list(dict.fromkeys(variants))
    while wanted:
        name = wanted.pop(0)
        transform = load_transform(name)
        if transform.parent not in done:
            wanted = [transform.parent, name, *(one for one in wanted if one != transform.parent)]
            continue
        done.add(transform.variant)
        ordered[name] = transform
    return ordered


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
    build: BuildInProgress,
    results: Sequence[GateResult],
    engine: Engine,
    transforms: tuple[str, ...],
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
        code_digest=code_digest(),
        engine=engine.name,
        options=engine.options(),
        transforms=transforms,
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
        parts=digests_of_parts(build.staging),
        plans={built.variant: plan_to_json(built.plan) for built in variants if built.plan},
        issues=tuple(structs.asdict(issue) for issue in source.issues),
    )


def digests_of_parts(folder: Path) -> dict[str, str]:
    """Name -> sha256 of the files beside a record, which the record stands for."""
    beside = [path for path in folder.iterdir() if path.name not in APART]
    places = sorted([*beside, *(folder / DRAFTS).rglob("*")])
    return {
        path.relative_to(folder).as_posix(): sha256(path.read_bytes())
        for path in places
        if path.is_file()
    }


def load_build(target: Path) -> BuildRecord:
    """The record of a build. Raises StudyError when it is missing or wrong."""
    if not (target / RECORD).is_file():
        raise StudyError(
            f"no build at {str(target)!r}: it holds no {RECORD}; name what `skilljuror build` wrote",
            file=str(target),
        )
    return read_record(BuildRecord, target / RECORD)
