"""Prove a build: rebuild it from its source and compare every file.

The folder must equal the rebuild and hold nothing else. Contributions of models and people cannot be
proved, and are reported.
"""

import json
import re
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
from msgspec import Struct, structs

from skilljuror.audit.gates import GATES
from skilljuror.audit.gates.rubric import (
    line_of,
    load_rubric,
    messages,
    prompt_digest,
    rubric_digest,
)
from skilljuror.audit.plans.verify import verify, verify_control
from skilljuror.base.errors import BundleError, SkilljurorError, StudyError, UsageError
from skilljuror.base.files import read_rows, sha256, write_record
from skilljuror.base.llm import ModelAnswer, ModelChoice, RecordedModel
from skilljuror.base.models.build import BuildRecord, VariantManifest
from skilljuror.base.models.bundle import Bundle, BundleIssue, digest_of_digests
from skilljuror.base.models.gate import AssayReport
from skilljuror.base.models.rubric import RubricQuote, RubricVerdict
from skilljuror.base.tokens import tokenizer_name
from skilljuror.layouts import TRANSFORMS
from skilljuror.layouts.build.build import (
    Engine,
    PlanEngine,
    code_digest,
    declared_findings,
    load_build,
    load_transform,
    make_build,
)
from skilljuror.layouts.build.folder import (
    CALLS,
    JUDGED,
    RECORD,
    REVIEWS,
    RUBRIC,
    SIGNATURE,
    SOURCE,
    VARIANTS,
    saved_source,
)
from skilljuror.layouts.build.manifests import plan_from_json, plan_to_json
from skilljuror.layouts.build.model_build import SKILLS, Writer
from skilljuror.layouts.build.reviews import rubric_verdicts
from skilljuror.layouts.layouts.without_section import PREFIX
from skilljuror.layouts.llm.rewrite import is_answer
from skilljuror.layouts.verify.build_differences import Entry, first, listing, listing_differences
from skilljuror.layouts.verify.signature import sign, signer
from skilljuror.skill.bundles import load_bundle
from skilljuror.skill.bundles.limits import is_around
from skilljuror.skill.bundles.reader import source_slug
from skilljuror.skill.bundles.revision import load_named


class RubricProof:
    """The rubric verdicts of a build, compared with its bundles."""

    def __init__(self, build: Path, source: Bundle, variants: Mapping[str, Bundle]) -> None:
        self.source, self.variants = source, variants
        self.current: dict[str, list[RubricVerdict]] = {}
        self.stale: dict[str, list[RubricVerdict]] = {}
        for verdict in rubric_verdicts(build).values():
            group = self.current if self._is_current(verdict) else self.stale
            group.setdefault(verdict.variant, []).append(verdict)

    def _is_current(self, verdict: RubricVerdict) -> bool:
        variant = self.variants.get(verdict.variant)
        digests = (verdict.rubric_digest, verdict.source_digest, verdict.variant_digest)
        current = rubric_digest(load_rubric()), self.source.digest
        return variant is not None and digests == (*current, variant.digest)

    def problems(self) -> Iterator[str]:
        """Report verdicts on a different question or with a missing quote."""
        rubric = load_rubric()
        for name, verdicts in self.current.items():
            asked = messages(rubric, rubric.items_of(name), self.source, self.variants[name])
            digest = prompt_digest(asked)
            for one in verdicts:
                where = f"{RUBRIC}: {name}/{one.item}"
                if one.prompt_sha256 != digest:
                    yield f"{where}: answers a different question"
                yield from (
                    f"{where}: its quote is not at {quote.file}:{quote.line}"
                    for quote in one.quotes
                    if not self._is_at(quote, self.variants[name])
                )

    def _is_at(self, quote: RubricQuote, variant: Bundle) -> bool:
        side = self.source if quote.side == "source" else variant
        return line_of(quote.text, quote.file, side) == quote.line

    def unproved(self) -> Iterator[str]:
        """List judged and stale verdicts."""
        for name, verdicts in self.current.items():
            models = ", ".join(sorted({one.model for one in verdicts}))
            yield f"judged, not proved: {RUBRIC}: {name}: {len(verdicts)} items by {models}"
        for name, verdicts in self.stale.items():
            items = ", ".join(one.item for one in verdicts)
            yield (
                f"stale: {RUBRIC}: {name}: the texts or the rubric changed for {items}; rerun"
                " skilljuror rubric"
            )


_DIGEST = re.compile("[0-9a-f]{64}")
_VERSION = re.compile(r"[0-9][\w.+!-]{0,40}")
_DAMAGED = (msgspec.MsgspecError, ValueError, TypeError, LookupError)
"""Errors that a malformed record causes in a rebuild."""


class Grounds(NamedTuple):
    """Evidence for a proof besides the build."""

    source: str | None = None
    """The source, as a folder, a zip or REVISION:PATH; None for the build's own copy."""
    signers: Path | None = None  # allowed signers file of ssh-keygen
    plugins: tuple[str, ...] = ()  # plugins of other packages that may be loaded


BUILD_ALONE = Grounds()


class Proof(Struct, frozen=True):
    """Result of verifying a build."""

    problems: tuple[str, ...]
    unproved: tuple[str, ...]  # parts that cannot be proved, and why
    grounds: tuple[str, ...]  # evidence for the rest
    made_again: bool  # the whole build was rebuilt and is equal

    @property
    def proved(self) -> bool:
        """The build has no problem and no unproved part."""
        return not self.problems and not self.unproved


def verify_build(build: Path, grounds: Grounds = BUILD_ALONE) -> Proof:
    """Rebuild the build from its source and compare it with every file of the folder.

    Nothing of the build is run; code of other packages is loaded only if `grounds` allow it. Raises
    StudyError for a missing build, BundleError for an invalid `grounds.source`.
    """
    record = load_build(build)
    if record.format_version == 1:
        problem = f"{RECORD}: format 1 has no source, so it cannot be proved; build it again"
        return Proof((problem,), (), (), made_again=False)
    check = _Verification(build, record, grounds)
    check.signature()
    check.source_given()
    differing = check.against_again()
    again = differing == []
    if differing is None or (differing and not check.is_same_code):
        check.problems += check.against_record()
    elif differing:
        check.problems += differing
    problems = (*check.problems, *(check.rubric.problems() if check.rubric else ()))
    unproved = (*check.not_made_again(differing), *check.judged())
    return Proof(problems, unproved, check.rests_on(), made_again=again)


class _Verification:
    def __init__(self, build: Path, record: BuildRecord, grounds: Grounds) -> None:
        self.build = build
        self.record = record
        self.grounds = grounds
        self.here = listing(build)
        self.problems: list[str] = [*self._malformed()]
        self.bundles = dict(self._load_variants())
        self.source = self._load_source()
        self.rubric = RubricProof(build, self.source, self.bundles) if self.source else None
        named = (*record.transforms, *record.gates)
        known = {*TRANSFORMS, *GATES, *grounds.plugins}
        self.foreign = tuple(
            dict.fromkeys(one for one in named if one not in known and not one.startswith(PREFIX))
        )
        """Plugins of other packages that may not be loaded."""
        code = code_digest(), tokenizer_name()
        self.is_same_code = (record.code_digest, record.tokenizer) == code
        self.signed_by: str | None = None

    def _malformed(self) -> Iterator[str]:
        record = self.record
        if not record.variants:
            yield f"{RECORD}: variants: empty, so there is nothing to prove"
        if source_slug(record.name) != record.name:
            yield f"{RECORD}: name: is not a slug"
        if not _DIGEST.fullmatch(record.code_digest or ""):
            yield f"{RECORD}: code_digest: is not a sha256 digest"
        if not _VERSION.fullmatch(record.skilljuror_version):
            yield f"{RECORD}: skilljuror_version: is not a version"
        for path in self.here:
            if path == RECORD or ("/" not in path and path.endswith(".jsonl")):
                yield from _repeated_keys(self.build, path)

    def _load_variants(self) -> Iterator[tuple[str, Bundle]]:
        for entry in self.record.variants:
            folder = self.build / VARIANTS / entry.variant
            try:
                yield entry.variant, load_bundle(folder, self.record.name, inspect=False)
            except BundleError as error:
                self.problems.append(f"{VARIANTS}/{entry.variant}: cannot be read: {error.message}")

    def _load_source(self) -> Bundle | None:
        if not (self.build / SOURCE).is_file():
            self.problems.append(f"{SOURCE}: is missing")
            return None
        try:
            return saved_source(self.build, self.record)
        except BundleError as error:
            self.problems.append(f"{SOURCE}: cannot be read: {error.message}")
            return None

    def signature(self) -> None:
        if self.grounds.signers is None:
            return
        self.signed_by = signer(self.build, self.grounds.signers)
        if self.signed_by is None:
            there = (self.build / SIGNATURE).is_file()
            what = (
                "is not from an allowed signer, or signs another record" if there else "is missing"
            )
            self.problems.append(f"{SIGNATURE}: {what}")

    def source_given(self) -> None:
        if self.grounds.source is None:
            return
        record = {file.path: (file.sha256, file.executable) for file in self.record.source.files}
        tops = {path.partition("/")[0] for path in record}
        given = load_named(self.grounds.source, under=tops.pop() if len(tops) == 1 else None)
        files = {path: (blob.sha256, blob.executable) for path, blob in given.files.items()}
        self.problems += first(
            f"source: {path!r} differs in {self.grounds.source!r}"
            for path in sorted(files.keys() | record.keys())
            if files.get(path) != record.get(path)
        )

    def against_again(self) -> list[str] | None:
        """List differences from the rebuild; None if it cannot be rebuilt."""
        if self.foreign or self.source is None:
            return None
        with tempfile.TemporaryDirectory() as folder:
            again = Path(folder)
            try:
                self._make_again(self.source, again)
            except (SkilljurorError, *_DAMAGED) as error:
                why = " ".join(str(error).split())[:300]
                return [f"{RECORD}: cannot be rebuilt: {why}"]
            expected = listing(again) | self._expected_beside()
            found = listing_differences(self.here, expected, self.build, again)
            return [*found, *self._left_out_of_rubric(again)]

    def _make_again(self, source: Bundle, folder: Path) -> None:
        """Rebuild, with the values that only the record holds."""
        record = self.record
        recorded = dict.fromkeys(msgspec.convert(list(record.issues), list[BundleIssue]))
        issues = {one for one in source.issues if not is_around(one, source.files)}
        issues |= {one for one in recorded if is_around(one, source.files)}
        ordered = sorted(issues, key=lambda one: (one.file, one.line or 0, one.rule, one.message))
        source = structs.replace(source, issues=tuple(ordered))
        made = make_build(source, folder, self._engine(), record.transforms, record.gates)
        if record.assay is not None:
            from skilljuror.layouts.build.assay import keep_assays, settings_of

            report = AssayReport.model_validate(record.assay)
            made = keep_assays({folder: None}, settings_of(report, folder))[folder]
        judged = {name: record.parts[name] for name in JUDGED if name in record.parts}
        copied: dict[str, Any] = {"parts": made.parts | judged}
        if not self.is_same_code:
            copied["code_digest"] = record.code_digest
            copied["skilljuror_version"] = record.skilljuror_version
        write_record(folder / RECORD, made.model_copy(update=copied))

    def _left_out_of_rubric(self, again: Path) -> Iterator[str]:
        here = {_answer(one) for one in read_rows(RubricVerdict, self.build / RUBRIC)}
        for one in read_rows(RubricVerdict, again / RUBRIC):
            if _answer(one) not in here:
                yield f"{RUBRIC}: {one.variant}/{one.item}: the recorded answer {one.answer!r} is missing"

    def _expected_beside(self) -> dict[str, Entry]:
        """Files that a rebuild does not create: a signature, reviews and rubric verdicts. A signature
        fixes their content at the time of signing."""
        names = [name for name in (SIGNATURE, *JUDGED) if name in self.here]
        if self.grounds.signers is None:
            return {name: Entry(self.here[name].sha256) for name in names}
        parts = {
            name: Entry(self.record.parts[name]) for name in JUDGED if name in self.record.parts
        }
        return parts | {name: Entry(self.here[name].sha256) for name in names if name == SIGNATURE}

    def _engine(self) -> Engine:
        record = self.record
        if record.engine in {"plan", "assign"}:
            name = {"name": record.name} if "name" in record.options else {}
            return PlanEngine(record.options | name, record.engine)
        if record.engine != Writer.name:
            raise StudyError(f"no engine {record.engine!r} is known", field="engine")
        choice = ModelChoice(record.options["model"], params=record.options["params"])
        answers = tuple(read_rows(ModelAnswer, self.build / CALLS))
        model = RecordedModel(choice, answers)
        most = int(record.options["rounds"]["most"])
        of_transforms = record.options["of_transforms"]
        gate = None
        if asked := record.options.get("rubric"):
            judging = ModelChoice(asked, params=record.options["params"])
            gate = RecordedModel(judging, answers)
        return Writer(model, of_transforms, most, gate)

    def against_record(self) -> Iterator[str]:
        yield from listing_differences(self.here, self._on_record(), self.build)
        if self.source is not None and self.source.digest != self.record.source.tree_digest:
            yield f"{SOURCE}: is not the recorded source"
        for entry in (self.record.source, *self.record.variants):
            digests = {file.path: (file.sha256, file.executable) for file in entry.files}
            if digest_of_digests(digests) != entry.tree_digest:
                yield f"{RECORD}: {entry.variant}: tree_digest does not match its files"
        for entry in self.record.variants:
            yield from (f"{entry.variant}: {one}" for one in self._unaccounted(entry))

    def _on_record(self) -> dict[str, Entry]:
        parts = {name: Entry(digest) for name, digest in self.record.parts.items()}
        files = {
            f"{VARIANTS}/{entry.variant}/{file.path}": Entry(file.sha256, file.executable)
            for entry in self.record.variants
            for file in entry.files
        }
        record = {RECORD: Entry(self.here[RECORD].sha256)}
        return parts | files | record | self._expected_beside()

    def _unaccounted(self, entry: VariantManifest) -> Iterator[str]:
        """Report why neither the recorded plan nor a recorded answer yields a variant."""
        bundles = self.bundles | ({"source": self.source} if self.source else {})
        parent, variant = bundles.get(entry.parent or ""), bundles.get(entry.variant)
        if variant is None:
            return  # reported where it was loaded
        if parent is None:
            yield f"its parent {entry.parent!r} is not in the build"
        elif entry.variant in self.record.plans:
            recorded = self.record.plans[entry.variant]
            plan = plan_from_json(recorded)
            if plan_to_json(plan) != recorded:
                yield "its recorded plan has unknown fields"
            yield from (verify_control if self._is_control(entry) else verify)(
                plan, parent, variant
            )
        elif not self._is_written(entry, parent, variant):
            yield "no plan and no recorded model answer explains its files"

    def _is_written(self, entry: VariantManifest, parent: Bundle, variant: Bundle) -> bool:
        if self.record.engine != Writer.name or entry.variant not in SKILLS:
            return False
        return any(
            is_answer(answer.text, entry.variant, parent, variant.files)
            for answer in read_rows(ModelAnswer, self.build / CALLS)
        )

    def _is_control(self, entry: VariantManifest) -> bool:
        """Whether a variant omits knowledge on purpose, by its transform or, if that may not be loaded,
        by the record; the build is then reported as not proved."""
        own = [name for name in self.record.transforms if name not in self.foreign]
        for transform in map(load_transform, dict.fromkeys([*own, *TRANSFORMS])):
            if transform.variant == entry.variant:
                return bool(declared_findings(transform))
        return bool(entry.expected_findings)

    def not_made_again(self, differing: list[str] | None) -> Iterator[str]:
        if self.foreign:
            yield (
                f"not proved: requires {', '.join(self.foreign)} of another package;"
                " allow it with --plugin NAME if you trust it"
            )
        elif differing and not self.is_same_code:
            yield (
                f"not proved: built by skilljuror {self.record.skilljuror_version} with other code or"
                f" another tokenizer, and the rebuild differs: {'; '.join(first(iter(differing)))}"
            )

    def judged(self) -> Iterator[str]:
        """List contributions of models and people, which cannot be proved."""
        record = self.record
        for entry in record.variants:
            if record.engine == Writer.name and entry.variant in SKILLS:
                yield f"judged, not proved: {entry.variant}: a model wrote its text; see its gates"
        judges = Counter(one["by"] for one in record.options.get("scopes", {}).values())
        for by, count in judges.items():
            sections = f"{count} section{'s' * (count > 1)}"
            yield f"judged, not proved: pd: the scope of {sections}, by {by}"
        if (self.build / REVIEWS).is_file():
            yield f"judged, not proved: {REVIEWS}: people's decisions on findings"
        yield from self.rubric.unproved() if self.rubric else ()

    def rests_on(self) -> tuple[str, ...]:
        evidence = []
        if self.grounds.source is not None:
            evidence.append(f"the source is {self.grounds.source}")
        if self.signed_by is not None:
            evidence.append(f"signed by {self.signed_by}")
        return tuple(evidence) or (
            "the source is the build's own copy; name the original with --source, or trusted"
            " signers with --allowed-signers",
        )


def _answer(one: RubricVerdict) -> tuple[str, ...]:
    return one.variant, one.item, one.answer, one.model, one.prompt_sha256


def _repeated_keys(build: Path, path: str) -> Iterator[str]:
    """Report keys repeated in one object: readers disagree on which counts."""
    repeated: list[str] = []

    def collect(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        made = dict(pairs)
        if len(made) < len(pairs):
            names = [name for name, _ in pairs]
            repeated.extend(name for name in made if names.count(name) > 1)
        return made

    data = (build / path).read_bytes()
    for text in [data] if path == RECORD else data.split(b"\n"):
        try:
            json.loads(text, object_pairs_hook=collect)
        except (ValueError, RecursionError):
            continue  # invalid JSON is reported by the comparison
    yield from first(f"{path}: repeats the key {name!r} in one object" for name in repeated)


def sign_build(build: Path, key: Path) -> Path:
    """Sign the record, including current reviews and rubric verdicts; return the signature's path.

    Raises UsageError for a build of format 1 and for an unusable key, MissingDependency without
    ssh-keygen.
    """
    record = load_build(build)
    if record.format_version == 1:
        raise UsageError(
            f"{str(build)!r} has format 1, which lacks the digests to sign; build it again",
            file=str(build),
        )
    judged = {
        name: sha256((build / name).read_bytes()) for name in JUDGED if (build / name).is_file()
    }
    parts = {name: digest for name, digest in record.parts.items() if name not in JUDGED} | judged
    if parts != record.parts:
        write_record(build / RECORD, record.model_copy(update={"parts": parts}))
    return sign(build, key)
