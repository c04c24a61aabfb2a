"""Whether a build is what it says: made again from its source, and proved from what is on disk.

A record is a claim. What follows from the source is made again by the code that builds, and
compared; what a model or a person contributed cannot be, and is told.
"""

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple, cast, get_args

import msgspec
from msgspec import Struct, structs

from skilljuror.bundles import load_bundle
from skilljuror.bundles.revision import load_named
from skilljuror.errors import BundleError, SkilljurorError, StudyError, UsageError
from skilljuror.files import read_rows, sha256, write_record
from skilljuror.gates import GATES
from skilljuror.knowledge.plans.verify import verify, verify_control
from skilljuror.llm import ModelAnswer, ModelChoice, RecordedModel
from skilljuror.models.build import BuildRecord, VariantManifest
from skilljuror.models.bundle import Bundle, BundleIssue, digest_of_digests
from skilljuror.models.gate import AssayReport
from skilljuror.pipeline.construction.assay import keep_assays, settings_of
from skilljuror.pipeline.construction.build import (
    Engine,
    PlanEngine,
    declared_findings,
    load_build,
    load_transform,
    make_build,
)
from skilljuror.pipeline.construction.build_differences import build_differences, files_of, first
from skilljuror.pipeline.construction.build_folder import (
    CALLS,
    GATE_RESULTS,
    JUDGED,
    KNOWLEDGE,
    RECORD,
    REVIEWS,
    SIGNATURE,
    SOURCE,
    VARIANTS,
)
from skilljuror.pipeline.construction.code_digest import code_digest
from skilljuror.pipeline.construction.kept_source import kept_source
from skilljuror.pipeline.construction.manifests import plan_from_json
from skilljuror.pipeline.construction.model_build import SKILLS, MakerWithModel, Mode, RubricGate
from skilljuror.pipeline.construction.rubric_proof import RubricProof
from skilljuror.pipeline.construction.signature import sign, signer
from skilljuror.tokens import tokenizer_name
from skilljuror.transforms import TRANSFORMS

AROUND = ("skipped-file", "odd-mode")
"""Issues about what lay around the files of a source, which the kept source does not tell."""
NOT_MADE = (SIGNATURE, *JUDGED)
"""Files of a build that no building makes."""
APART = ("skilljuror_version", "code_digest", "parts")
"""Fields of a record that are not compared with those of a build made again: the first two say who
made it, and the parts are compared as files."""
_DAMAGED = (msgspec.MsgspecError, ValueError, TypeError, LookupError)
"""What a record of odd values leads to where it is taken for a recipe."""


class Grounds(NamedTuple):
    """What a proof may rest on besides the build."""

    source: str | None = None
    """The source, as a folder, a zip or REVISION:PATH; None for the one that the build keeps."""
    signers: Path | None = None
    """Who may have signed the record, as ssh-keygen has it."""
    plugins: tuple[str, ...] = ()
    """Code of other packages that the build names and that may be loaded."""


ITSELF = Grounds()
"""Nothing but the build."""


class Proof(Struct, frozen=True):
    """What can be said of a build."""

    problems: tuple[str, ...]
    """Why it is not what it says, one line each."""
    unproved: tuple[str, ...]
    """What in it cannot be proved, and why."""
    grounds: tuple[str, ...]
    """What the rest is proved by."""

    @property
    def proved(self) -> bool:
        """Whether all of it is."""
        return not self.problems and not self.unproved


def verify_build(build: Path, grounds: Grounds = ITSELF) -> Proof:
    """Make the build again from its source, compare all of it, and prove what is on disk.

    Nothing of the build is run, and code of other packages is loaded where `grounds` allow it
    alone. Raises StudyError for no build, BundleError for a `grounds.source` that is none.
    """
    check = _Verification(build, load_build(build), grounds)
    check.signature()
    check.source_given()
    against_record = dict(check.against_record())
    against_again = check.against_again()
    told = {line.partition(": ")[0] for line in against_again if check.is_same_code}
    return Proof(
        problems=(
            *check.problems,
            *(line for path, line in against_record.items() if path not in told),
            *(against_again if check.is_same_code else ()),
            *check.by_plans(),
            *(check.rubric.problems() if check.rubric else ()),
        ),
        unproved=tuple(check.unproved(against_again)),
        grounds=check.rests_on(),
    )


class _Verification:
    """One build under proof."""

    def __init__(self, build: Path, record: BuildRecord, grounds: Grounds) -> None:
        self.build = build
        self.record = record
        self.grounds = grounds
        self.problems: list[str] = []
        self.bundles = dict(self._load_variants())
        self.source = self._load_source()
        self.rubric = RubricProof(build, self.source, self.bundles) if self.source else None
        named = (*record.transforms, *record.gates)
        known = {*TRANSFORMS, *GATES, *grounds.plugins}
        self.foreign = tuple(dict.fromkeys(name for name in named if name not in known))
        """Code of other packages that nobody allowed to be loaded."""
        loaded = [load_transform(name) for name in record.transforms if name not in self.foreign]
        self.controls = {one.variant: bool(declared_findings(one)) for one in loaded}
        self.is_same_code = (record.code_digest, record.tokenizer) == (
            code_digest(),
            tokenizer_name(),
        )
        self.signed_by: str | None = None

    def _load_variants(self) -> Iterator[tuple[str, Bundle]]:
        for entry in self.record.variants:
            folder = self.build / VARIANTS / entry.variant
            try:
                yield entry.variant, load_bundle(folder, self.record.name, inspect=False)
            except BundleError as error:
                self.problems.append(f"{VARIANTS}/{entry.variant}: cannot be read: {error.message}")

    def _load_source(self) -> Bundle | None:
        if self.record.format_version > 1 and not (self.build / SOURCE).is_file():
            self.problems.append(f"{SOURCE}: is missing")
            return None
        try:
            return kept_source(self.build, self.record, self.bundles)
        except BundleError as error:
            self.problems.append(f"{SOURCE}: cannot be read: {error.message}")
            return None

    def signature(self) -> None:
        """The record is signed by one of those who may."""
        if self.grounds.signers is None:
            return
        self.signed_by = signer(self.build, self.grounds.signers)
        if self.signed_by is None:
            there = (self.build / SIGNATURE).is_file()
            what = "is of no allowed signer, or of another record" if there else "is missing"
            self.problems.append(f"{SIGNATURE}: {what}")

    def source_given(self) -> None:
        """The source that somebody names is the one on record."""
        if self.grounds.source is None:
            return
        record = {file.path: (file.sha256, file.executable) for file in self.record.source.files}
        tops = {path.partition("/")[0] for path in record}
        given = load_named(self.grounds.source, under=tops.pop() if len(tops) == 1 else None)
        files = {path: (blob.sha256, blob.executable) for path, blob in given.files.items()}
        if files == record:
            self.source = self.source or structs.replace(given, name=self.record.name)
            return
        differing = [
            path
            for path in sorted(files.keys() | record.keys())
            if files.get(path) != record.get(path)
        ]
        self.problems += first(
            f"the source: {path!r} is another file in {self.grounds.source!r}" for path in differing
        )

    def against_record(self) -> Iterator[tuple[str, str]]:
        """(path, line) of every file that is not on record, or differs from it."""
        here, expected = files_of(self.build), dict(self._on_record())
        left_out = {RECORD, SIGNATURE} | (set() if self.grounds.signers else {*JUDGED})
        for path in sorted((here.keys() | expected.keys()) - left_out):
            if path not in here:
                yield path, f"{path}: is missing"
            elif path not in expected:
                yield path, f"{path}: is no part of the build"
            elif not _is_as_told(here[path], *expected[path]):
                yield path, f"{path}: is not the file on record"
        if self.source is not None and self.source.digest != self.record.source.tree_digest:
            yield SOURCE, f"{SOURCE}: is not the source on record"
        for entry in (self.record.source, *self.record.variants):
            digests = {file.path: (file.sha256, file.executable) for file in entry.files}
            if digest_of_digests(digests) != entry.tree_digest:
                yield RECORD, f"{RECORD}: {entry.variant}: tree_digest is not that of its files"

    def _on_record(self) -> Iterator[tuple[str, tuple[str | None, bool | None]]]:
        """Path -> digest and execute bit; None where the record tells none."""
        parts: dict[str, str | None] = {**self.record.parts}
        if self.record.format_version == 1:
            with_model = [CALLS] if self.record.engine != "plan" else []
            parts = dict.fromkeys((GATE_RESULTS, KNOWLEDGE, *with_model))
        for name, digest in parts.items():
            yield name, (digest, None)
        for entry in self.record.variants:
            for file in entry.files:
                path = f"{VARIANTS}/{entry.variant}/{file.path}"
                yield path, (file.sha256, file.executable)

    def by_plans(self) -> Iterator[str]:
        """Why a variant on disk is not proved to carry its parent by its plan on record."""
        bundles = self.bundles | ({"source": self.source} if self.source else {})
        for entry in self.record.variants:
            if entry.variant not in self.record.plans or entry.variant not in bundles:
                continue
            parent = bundles.get(entry.parent or "")
            if parent is None:
                yield f"{entry.variant}: its parent {entry.parent!r} is not in the build"
                continue
            plan = plan_from_json(self.record.plans[entry.variant])
            check = verify_control if self._is_control(entry) else verify
            for problem in check(plan, parent, bundles[entry.variant]):
                yield f"{entry.variant}: {problem}"

    def _is_control(self, entry: VariantManifest) -> bool:
        """Whether a variant leaves knowledge out on purpose, as its transform says; the record is asked
        where the transform may not be loaded, and the build is not called proved then."""
        if entry.variant in self.controls:
            return self.controls[entry.variant]
        if entry.variant in TRANSFORMS:
            return bool(declared_findings(load_transform(entry.variant)))
        return bool(entry.expected_findings)

    def against_again(self) -> list[str]:
        """How the build differs from itself, made again; empty also where it cannot be made."""
        if self.record.format_version == 1 or self.foreign or self.source is None:
            return []
        with tempfile.TemporaryDirectory() as folder:
            try:
                self._make_again(self.source, Path(folder))
            except (SkilljurorError, *_DAMAGED) as error:
                why = " ".join(str(error).split())[:300]
                return [f"{RECORD}: cannot be built again: {why}"]
            return build_differences(self.build, Path(folder), NOT_MADE, APART)

    def _make_again(self, source: Bundle, folder: Path) -> None:
        record = self.record
        recorded = msgspec.convert(list(record.issues), list[BundleIssue])
        issues = [one for one in source.issues if one.rule not in AROUND]
        issues += [one for one in recorded if one.rule in AROUND]
        issues.sort(key=lambda issue: (issue.file, issue.line or 0, issue.rule, issue.message))
        source = structs.replace(source, issues=tuple(issues))
        make_build(source, folder, self._engine(), record.transforms, record.gates)
        if record.assay is not None:
            report = AssayReport.model_validate(record.assay)
            keep_assays({folder: None}, settings_of(report, folder))

    def _engine(self) -> Engine:
        """Who made the build; for a model, the answers that it gave."""
        record = self.record
        if record.engine == "plan":
            return PlanEngine(record.options)
        if record.engine not in get_args(Mode):
            raise StudyError(f"no engine {record.engine!r} is known", field="engine")
        choice = ModelChoice(record.options["model"], params=record.options["params"])
        answers = tuple(read_rows(ModelAnswer, self.build / CALLS))
        model = RecordedModel(choice, answers)
        most = int(record.options.get("rounds", {"most": 1})["most"])  # there was one, once
        of_transforms = record.options["of_transforms"]
        gate = None
        if asked := record.options.get("rubric"):
            judging = ModelChoice(asked, params=record.options["params"])
            gate = RubricGate(RecordedModel(judging, answers))
        return MakerWithModel(cast("Mode", record.engine), model, of_transforms, most, gate)

    def unproved(self, against_again: list[str]) -> Iterator[str]:
        """What nothing here can prove."""
        record = self.record
        if record.format_version == 1:
            yield "proved from its record: format 1 keeps no source to plan from; build it again"
        elif self.foreign:
            yield (
                f"proved from its record: it needs {', '.join(self.foreign)} of another package;"
                " allow what you trust with --plugin NAME"
            )
        elif against_again and not self.is_same_code:
            yield (
                f"proved from its record: made by skilljuror {record.skilljuror_version} with other code"
                f" or another tokenizer, and this one differs: {'; '.join(first(iter(against_again)))}"
            )
        for entry in record.variants:
            if entry.variant in SKILLS.get(record.engine, {}):
                what = "the triggers of its rows" if entry.variant in record.plans else "its text"
                yield f"judged, not proved: {entry.variant}: a model wrote {what}; see its gates"
        if (self.build / REVIEWS).is_file():
            yield f"judged, not proved: {REVIEWS}: what people said of findings"
        yield from self.rubric.unproved() if self.rubric else ()

    def rests_on(self) -> tuple[str, ...]:
        """What the proof is worth."""
        told = []
        if self.grounds.source is not None:
            told.append(f"the source is {self.grounds.source}")
        if self.signed_by is not None:
            told.append(f"signed by {self.signed_by}")
        if not told:
            told.append(
                "the source is the build's own: name the true one with --source, or who may have"
                " signed the build with --allowed-signers"
            )
        return tuple(told)


def _is_as_told(path: Path, digest: str | None, executable: bool | None) -> bool:
    if path.is_symlink() or not path.is_file():
        return False
    mode = bool(path.stat().st_mode & 0o100)
    return digest in (None, sha256(path.read_bytes())) and executable in (None, mode)


def sign_build(build: Path, key: Path) -> Path:
    """Sign the record, with what people and models have said until now; the signature's path.

    Raises UsageError for a build of format 1, whose record does not stand for all of it, and for a key
    that cannot sign; MissingDependency without ssh-keygen.
    """
    record = load_build(build)
    if record.format_version == 1:
        raise UsageError(
            f"{str(build)!r} is of format 1, whose record does not hold the digests of its parts;"
            " build it again",
            file=str(build),
        )
    said = {
        name: sha256((build / name).read_bytes()) for name in JUDGED if (build / name).is_file()
    }
    parts = {name: digest for name, digest in record.parts.items() if name not in JUDGED} | said
    if parts != record.parts:
        write_record(build / RECORD, record.model_copy(update={"parts": parts}))
    return sign(build, key)
