"""Build the variants of a source, prove each from disk, and write the build record."""

import sys
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache, partial
from importlib import metadata
from pathlib import Path
from typing import Any, Literal, NamedTuple, cast

import msgspec
from msgspec import structs

from skilljuror.audit.audit import (
    audit,
    audit_proved,
    inherit_from_source,
    load_gates,
    waive_declared,
    with_findings_of,
)
from skilljuror.audit.comparison.unit_matching import knowledge_map
from skilljuror.audit.condition_words import WORDS_FILE
from skilljuror.audit.gates import GATES
from skilljuror.audit.gates.findings import finding
from skilljuror.audit.gates.loader import lost_loader_text
from skilljuror.audit.gates.policies import worst
from skilljuror.audit.plans.render import render
from skilljuror.audit.plans.verify import verify, verify_control
from skilljuror.base import __version__
from skilljuror.base.build import AuditResult, BuildRecord, GateResult
from skilljuror.base.errors import SkilljurorError, StudyError, TransformError, resolve
from skilljuror.base.files import (
    data_dir,
    digest_json,
    read_record,
    sha256,
    write_atomic,
    write_jsonl,
    write_record,
)
from skilljuror.base.skill import Blob, Bundle, Plan
from skilljuror.base.texts import tokenizer_name
from skilljuror.base.workers import infrequent_gc, map_unordered
from skilljuror.layouts import TRANSFORMS
from skilljuror.layouts.base import Transform, needed, plan_of
from skilljuror.layouts.build.folder import (
    APART,
    DRAFTS,
    GATE_RESULTS,
    KNOWLEDGE,
    RECORD,
    SOURCE,
    VARIANTS,
    fresh_build,
    safe_target,
    tar_of,
)
from skilljuror.layouts.build.manifests import variant_manifest
from skilljuror.layouts.build.scopes import judged_scopes
from skilljuror.layouts.controls import PREFIX, WithoutSection
from skilljuror.layouts.disclosure import nothing_on_demand
from skilljuror.skill.bundles import load_bundle, make_bundle, source_slug, write_bundle

DEFAULT_VARIANTS = ("origin", "flat-files", "pd")
READERS = ("markdown-it-py", "skills-ref")
"""Libraries that parse the texts: their versions are part of `code_digest`."""


def build_source(
    source: Path,
    target: Path,
    *,
    variants: Sequence[str] = DEFAULT_VARIANTS,
    options: dict[str, Any] | None = None,
    gates: Sequence[str] = (),
    engine: Literal["plan", "assign"] = "plan",
) -> BuildRecord:
    """Build `variants` of the bundle at `source` into the folder `target`, atomically.

    What a variant is made from is made and proved, too, but not kept unless it is among them. `pd` of a source
    without anything to disclose is not built: the record says why.

    `pd` follows what models and people judged of the source (`build/scopes.py`); `engine` says whether a model
    was asked. `gates` are judged in addition to the registered ones. Each variant is written, reloaded and proved
    against its parent. Raises TransformError for a variant that is not proved, BundleError for an
    unsafe source, UsageError for an unknown variant or gate and for a target with foreign files.
    """
    options = dict(options or {})
    load_gates(gates)
    place = safe_target(target, source)
    bundle = load_bundle(source, options.get("name"))
    if "pd" in transforms_by_name(variants) and (scopes := judged_scopes(source, bundle)):
        options["scopes"] = scopes
    with fresh_build(place) as staging:
        return make_build(bundle, staging, PlanEngine(options, engine), variants, gates)


class BuiltVariant(NamedTuple):
    """A variant and how it was made."""

    variant: str
    parent: str
    plan: Plan | None  # none for text written by a model
    policy: str  # policy of its gates
    kind: str  # layout that it is judged as: its own name, or the `stands_for` of a control
    expected: tuple[str, ...] = ()  # rules that a control breaks on purpose
    same_as: str | None = None  # an earlier variant with the same files, whose gate results count


class PlanEngine:
    """Makes every variant by its transform's plan; the base of engines."""

    name = "plan"

    def __init__(self, options: dict[str, Any], name: str = "plan") -> None:
        """`name` is "assign" if a model was asked for the scopes of sections, which are among the options."""
        self.name = name
        self._options = options

    def make(self, build: "BuildInProgress", transform: Transform) -> None:
        """Make one variant and prove it. Raises TransformError."""
        build.add_planned(transform, self._options)

    def options(self) -> dict[str, Any]:
        """Options for the record: enough to repeat the build."""
        return self._options

    def save(self, folder: Path) -> None:
        """Write nothing: a plan needs only its source."""


def make_build(
    bundle: Bundle, staging: Path, engine: PlanEngine, variants: Sequence[str], gates: Sequence[str]
) -> BuildRecord:
    """Make a whole build of a loaded source in an empty folder; `verify` repeats it.

    `variants` and `gates` are registered names or module:attribute. Raises TransformError for a
    variant that cannot be made or proved.
    """
    with infrequent_gc():
        build = BuildInProgress(bundle, staging, gates, variants)
        for transform in transforms_by_name(variants).values():
            engine.make(build, transform)
        return build.finish(engine, tuple(dict.fromkeys(variants)))


class BuildInProgress:
    """The variants made so far, in a staging folder."""

    def __init__(
        self,
        bundle: Bundle,
        staging: Path,
        gates: Sequence[str] = (),
        asked: Sequence[str] = DEFAULT_VARIANTS,
    ) -> None:
        """`asked` names the transforms whose variants are kept."""
        self.staging = staging
        self.gates = gates
        self.bundles: dict[str, Bundle] = {"source": bundle}  # variant, or "source", -> its files
        self.variants: list[BuiltVariant] = []  # those that are kept, in order of creation
        self.plans: dict[str, Plan] = {}
        self.not_built: dict[str, str] = {}  # variant -> why there is none
        self._asked = {load_transform(name).variant for name in asked}
        self._written: set[str] = set()  # variants whose text a model wrote
        self._judged: dict[str, list[GateResult]] = {}

    def add_planned(self, transform: Transform, options: dict[str, Any]) -> None:
        """Make a variant by a plan and prove it. Raises TransformError."""
        name, expected = transform.variant, declared_findings(transform)
        missing = next((one for one in needed(transform) if one in self.not_built), None)
        if missing is not None:
            self.not_built[name] = self.not_built[missing]
            return
        parent, source = self.bundles[transform.parent], self.bundles["source"]
        known = dict.fromkeys(self._written) | self.plans
        plan = plan_of(transform, parent, options, known)
        files = render(plan, parent)
        if nothing := nothing_on_demand(plan, files):
            self.not_built[name] = nothing
            return
        self.plans[name] = plan
        if name not in self._asked:
            self.bundles[name] = make_bundle(source.name, files)
            _prove(plan, parent, self.bundles[name], source, control=bool(expected))
            return
        bundle = self._write(name, files)
        kind = getattr(transform, "stands_for", name)
        twins = (one for one in self.variants if self.bundles[one.variant].files == bundle.files)
        twin = None if expected else next(twins, None)
        same_as = twin and (twin.same_as or twin.variant)
        _prove(plan, parent, bundle, source, control=bool(expected))
        self.variants.append(
            BuiltVariant(name, transform.parent, plan, "strict", kind, expected, same_as)
        )

    def judge_draft(
        self, variant: str, parent: str, files: dict[str, Blob], number: int
    ) -> list[GateResult]:
        """Save a written text as a draft of a variant; return its gate results under `rewritten`."""
        self._write(variant, files, self.staging / DRAFTS / variant / str(number))
        return [*self._judge(BuiltVariant(variant, parent, None, "rewritten", variant))]

    def take_draft(self, variant: str, parent: str, number: int, results: list[GateResult]) -> None:
        """Turn a draft into the variant; other drafts stay in the drafts folder."""
        drafts = self.staging / DRAFTS / variant
        place = self.staging / VARIANTS / variant
        place.parent.mkdir(parents=True, exist_ok=True)
        (drafts / str(number)).rename(place)
        for folder in (drafts, drafts.parent):
            if not any(folder.iterdir()):
                folder.rmdir()
        self.bundles[variant] = load_bundle(place, self.bundles["source"].name, inspect=False)
        self._written.add(variant)
        self.variants.append(BuiltVariant(variant, parent, None, "rewritten", variant))
        self._judged[variant] = results

    def _write(self, variant: str, files: dict[str, Blob], folder: Path | None = None) -> Bundle:
        folder = folder or self.staging / VARIANTS / variant
        write_bundle(files, folder)
        self.bundles[variant] = load_bundle(folder, self.bundles["source"].name, inspect=False)
        return self.bundles[variant]

    def finish(self, engine: PlanEngine, transforms: tuple[str, ...]) -> BuildRecord:
        """Judge every variant; write the record and all files that it covers."""
        for built in self.variants:
            if built.variant not in self._judged:
                self._judged[built.variant] = [*self._judge(built)]
        results = [result for built in self.variants for result in self._judged[built.variant]]
        bundles = {built.variant: self.bundles[built.variant] for built in self.variants}
        write_jsonl(self.staging / GATE_RESULTS, results)
        write_jsonl(self.staging / KNOWLEDGE, knowledge_map(self.bundles["source"], bundles))
        write_atomic(self.staging / SOURCE, tar_of(self.bundles["source"]))
        engine.save(self.staging)
        record = _record(self, results, engine, transforms)
        write_record(self.staging / RECORD, record)
        return record

    def _judge(self, built: BuiltVariant) -> Iterator[GateResult]:
        if built.same_as:
            for result in self._judged[built.same_as]:
                yield result.model_copy(update={"variant": built.variant, "parent": built.parent})
            return
        judged = self._audit(built.parent, built)
        written = built.plan is None
        if built.parent != "source" and (written or judged.verdict != "pass"):
            against_source = self._audit("source", built)
            judged = inherit_from_source(judged, against_source)
            judged = with_findings_of(judged, against_source) if written else judged
        if built.parent != "source" and not written:  # a parent that lost it is no excuse
            judged = with_findings_of(judged, self._lost_loader_text(built, judged))
        judged = waive_declared(judged, built.expected)
        for result in judged.results:
            yield result.model_copy(update={"variant": built.variant, "parent": built.parent})

    def _lost_loader_text(self, built: BuiltVariant, judged: AuditResult) -> AuditResult:
        """The audit with what the variant lost of its source's loader text as its only findings."""
        pair = self.bundles["source"], self.bundles[built.variant]
        lost = tuple(finding(*one) for one in lost_loader_text(*pair, every=True))
        results = (
            one.model_copy(update={"findings": lost if one.gate == "knowledge" else ()})
            for one in judged.results
        )
        return judged.model_copy(update={"results": tuple(results)})

    def _audit(self, parent: str, built: BuiltVariant) -> AuditResult:
        bundles = self.bundles[parent], self.bundles[built.variant]
        if built.plan is not None and not built.expected:
            return audit_proved(*bundles, built.kind, self.gates)
        return audit(*bundles, built.kind, built.policy, gates=self.gates)


def build_named(source: Path, target: Path, **chosen: Any) -> BuildRecord:
    """Run `build_source` with the folder's name as the build's name."""
    return build_source(source, target, options={"name": target.name}, **chosen)


def build_many(
    sources: Sequence[Path],
    target: Path,
    build: Callable[[Path, Path], BuildRecord] = build_named,
    jobs: int = 1,
) -> Iterator[tuple[str, BuildRecord | SkilljurorError]]:
    """Build each source into `target/<name>/`; yield (name, record or error) as each is done.

    `build` takes (source, folder) and runs in worker processes if `jobs` > 1. Names come from
    `names_for`.
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
    """Name each source by its slug; repeated slugs get -2, -3, …"""
    names: list[str] = []
    for source in sources:
        base = source_slug(source.resolve().name.removesuffix(".skill").removesuffix(".zip"))
        count, name = 2, base
        while name in names:
            name, count = f"{base}-{count}", count + 1
        names.append(name)
    return names


def transforms_by_name(variants: Sequence[str]) -> dict[str, Transform]:
    """Name -> requested transform, each after those that it needs."""
    ordered: dict[str, Transform] = {}
    done: set[str] = {"source"}
    wanted = list(dict.fromkeys(variants))
    while wanted:
        name = wanted.pop(0)
        transform = load_transform(name)
        first = [one for one in needed(transform) if one not in done]
        if first:
            wanted = [*first, name, *(one for one in wanted if one not in first)]
            continue
        done.add(transform.variant)
        ordered[name] = transform
    return ordered


def load_transform(name: str) -> Transform:
    """Return the transform of a variant, by its name, module:attribute or without:TITLE. Raises UsageError
    for an unknown name."""
    if name.startswith(PREFIX):
        return cast(Transform, WithoutSection(name.removeprefix(PREFIX)))  # its variant names it
    transform: Transform = resolve(TRANSFORMS, name, "variant", Transform)()
    return transform


def declared_findings(transform: Transform) -> tuple[str, ...]:
    """Return the rules that a control breaks on purpose."""
    return tuple(getattr(transform, "expected", ()))


def _prove(plan: Plan, parent: Bundle, variant: Bundle, source: Bundle, *, control: bool) -> None:
    problems = (verify_control if control else verify)(plan, parent, variant)
    if problems:
        bug = "this is a bug in the transform, please report it with the source"
        twins = [issue for issue in source.issues if issue.rule == "path-collision"]
        why = f"{twins[0].file!r} {twins[0].message}: rename it" if twins else bug
        raise TransformError(
            f"variant {plan.variant!r} of {parent.name!r} is not proved: {problems[0]}; {why}"
        )


def _record(
    build: BuildInProgress,
    results: Sequence[GateResult],
    engine: PlanEngine,
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
        skilljuror_version=__version__,
        code_digest=code_digest(),
        engine=engine.name,
        options=engine.options(),
        transforms=transforms,
        gates=tuple(name for name in dict.fromkeys(build.gates) if name not in GATES),
        tokenizer=tokenizer_name(),
        source=variant_manifest("source", None, source),
        variants=tuple(
            variant_manifest(
                built.variant,
                built.parent,
                build.bundles[built.variant],
                verdicts[built.variant],
                built.expected,
                built.same_as,
            )
            for built in variants
        ),
        not_built=build.not_built,
        parts=digests_of_parts(build.staging),
        plans={
            name: msgspec.json.decode(msgspec.json.encode(build.plans[name]))
            for name in sorted(build.plans)
        },
        issues=tuple(structs.asdict(issue) for issue in source.issues),
    )


@lru_cache(maxsize=1)
def code_digest() -> str:
    """Digest the package's modules, the words of conditions, and the versions of `READERS` and Python.

    Equal code digests and sources give equal builds.
    """
    package = Path(__file__).parents[2]
    modules = {
        path.relative_to(package).as_posix(): sha256(path.read_bytes())
        for path in package.rglob("*.py")
    }
    modules[WORDS_FILE] = sha256((data_dir("transforms") / WORDS_FILE).read_bytes())
    versions = {name: metadata.version(name) for name in READERS}
    return digest_json([modules, versions, sys.version_info[:2]])


def digests_of_parts(folder: Path) -> dict[str, str]:
    """Name -> sha256 of the files that the record covers."""
    beside = [path for path in folder.iterdir() if path.name not in APART]
    places = sorted([*beside, *(folder / DRAFTS).rglob("*")])
    return {
        path.relative_to(folder).as_posix(): sha256(path.read_bytes())
        for path in places
        if path.is_file()
    }


def load_build(target: Path) -> BuildRecord:
    """Load the record of a build. Raises StudyError if it is missing or invalid."""
    if not (target / RECORD).is_file():
        raise StudyError(
            f"no build at {str(target)!r}: {RECORD} is missing; name a folder that"
            " `skilljuror build` wrote",
            file=str(target),
        )
    return read_record(BuildRecord, target / RECORD)
