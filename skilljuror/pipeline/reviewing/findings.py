"""Flagged findings of the gates as questions: source and variant side by side, the units marked."""

from collections import defaultdict
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path

from skilljuror.bundles import load_bundle
from skilljuror.errors import BundleError
from skilljuror.files import read_record
from skilljuror.gates.findings import cut_text
from skilljuror.models.build import BuildRecord
from skilljuror.models.bundle import Bundle
from skilljuror.models.gate import Finding, GateResult
from skilljuror.models.knowledge import MappedUnit, Unit, UnitLocation
from skilljuror.models.review import ADJUDICATIONS, seen_in
from skilljuror.models.review_queue import ReviewItem, ReviewText
from skilljuror.pipeline.construction.build_folder import RECORD, VARIANTS
from skilljuror.pipeline.construction.kept_source import kept_source
from skilljuror.pipeline.construction.manifests import units_of_build
from skilljuror.pipeline.construction.reviews import flagged
from skilljuror.pipeline.construction.waivers import store_for
from skilljuror.pipeline.reviewing.excerpts import excerpt
from skilljuror.pipeline.reviewing.question import Question

ASKED = (
    "May the variant stand as it is here? Say whether it stood in the source already, comes from packaging,"
    " or is a repair that keeps the knowledge; else reject it."
)
FAILED = ". The gate failed it by itself: your answer is recorded, and only a waiver lets it pass."
SUSPICION = {"high": 0.9, "medium": 0.7, "low": 0.5}
"""How much a finding needs a look, by its severity; half of it where no decision settles the verdict."""


class BuildTexts:
    """The texts of a build, read when they are first asked for."""

    def __init__(self, build: Path) -> None:
        self._build = build
        self._variants: dict[str, Bundle | None] = {}

    def bundle(self, variant: str) -> Bundle | None:
        """The files of a variant; None where they cannot be read."""
        if variant not in self._variants:
            try:
                self._variants[variant] = load_bundle(
                    self._build / VARIANTS / variant, inspect=False
                )
            except BundleError:
                self._variants[variant] = None
        return self._variants[variant]

    @cached_property
    def source(self) -> Bundle | None:
        """The source as the build keeps it; None where it keeps none."""
        record = read_record(BuildRecord, self._build / RECORD)
        try:
            return kept_source(self._build, record, {})
        except BundleError:
            return None

    @cached_property
    def units(self) -> tuple[MappedUnit, ...]:
        """Its knowledge map."""
        return units_of_build(self._build)

    def beside(self, result: GateResult, finding: Finding) -> tuple[ReviewText, ...]:
        """What the finding is about, in its source and in its variant."""
        missing = finding.variant_text is None and finding.source_text is not None
        variant = self.bundle(result.variant)
        unit, place = self._mapped(result.variant, finding, missing)
        sources, variants = (
            {one.file: (one.start, one.end)} if one else {} for one in (unit, place)
        )
        if finding.line is not None:
            in_variant = variant and finding.file in variant.files and not missing
            holder = variants if in_variant else sources
            holder.setdefault(finding.file, (finding.line, finding.line))
        sides = (
            ("source", self.source, sources, finding.source_text),
            (result.variant, variant, variants, finding.variant_text),
        )
        return tuple(text for side in sides for text in _side(*side))

    def _mapped(
        self, variant: str, finding: Finding, missing: bool
    ) -> tuple[Unit | None, UnitLocation | None]:
        """The unit that the finding quotes, and its place in the variant; of units with the same text the
        one that stands where the finding does."""
        same = [row for row in self.units if cut_text(row.unit.text) == finding.source_text]
        rows = [(row.unit, None if missing else row.places.get(variant)) for row in same]
        at = (finding.file, finding.line)
        for unit, place in rows:
            where = unit if missing else place
            if where and (where.file, where.start) == at:
                return unit, place
        return rows[0] if rows else (None, None)


def _side(
    name: str, bundle: Bundle | None, places: dict[str, tuple[int, int]], told: str | None
) -> Iterator[ReviewText]:
    """The files of one side around their places; what the gate quotes, where no place is known."""
    shown = False
    for file, lines in places.items():
        blob = bundle.files.get(file) if bundle else None
        if blob is not None and blob.text is not None:
            shown = True
            yield excerpt(f"{name} · {file}", blob.text, [lines])
    if told is not None and not shown:
        yield ReviewText(f"{name} · as the gate quotes it", told, ((0, len(told)),))


def finding_questions(place: Path, builds: list[Path]) -> list[Question]:
    """One question for each flagged finding; those of one source that say the same, in whatever variant
    or build, are one."""
    alike: dict[tuple[str, str, str], list[tuple[Path, GateResult, Finding]]] = defaultdict(list)
    for build in builds:
        source = read_record(BuildRecord, build / RECORD).source.tree_digest
        for result, finding in flagged(build):
            alike[source, seen_in(finding), result.verdict].append((build, result, finding))
    texts = {build: BuildTexts(build) for build in builds}
    return [_question(place, found, texts) for found in alike.values()]


def _question(
    place: Path,
    found: list[tuple[Path, GateResult, Finding]],
    texts: dict[Path, BuildTexts],
) -> Question:
    build, result, finding = found[0]
    stores = {
        f"finding:{where.resolve().name}/{one.variant}/{each.id}": store_for(place, where)
        for where, one, each in found
    }
    first, *others = stores
    failed = result.verdict == "fail"
    line = f":{finding.line}" if finding.line else ""
    item = ReviewItem(
        id=first,
        kind="finding",
        title=f"{build.resolve().name}/{result.variant} · {finding.file}{line}",
        question=ASKED,
        answers=ADJUDICATIONS,
        suspicion=SUSPICION.get(finding.severity, 0.5) / (1 + failed),
        texts=texts[build].beside(result, finding),
        machine=f"{result.gate} {result.verdict}: {finding.rule} ({finding.severity}): {finding.message}"
        + FAILED * failed,
        repeats=tuple(others),
    )
    return Question(item, seen_in(finding), stores)
