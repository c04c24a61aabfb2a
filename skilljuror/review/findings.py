"""Ask reviewers about flagged findings, with the units marked in source and variant."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import cached_property
from pathlib import Path

from msgspec import Struct

from skilljuror.audit.gates.findings import cut_text
from skilljuror.base.build import BuildRecord, Finding, GateResult
from skilljuror.base.errors import BundleError
from skilljuror.base.files import read_record
from skilljuror.base.review import ADJUDICATIONS, ReviewItem, ReviewText, seen_in
from skilljuror.base.skill import Bundle, MappedUnit, Unit, UnitLocation
from skilljuror.layouts.build.folder import RECORD, VARIANTS, saved_source
from skilljuror.layouts.build.manifests import units_of_build
from skilljuror.layouts.build.reviews import flagged
from skilljuror.skill.bundles import load_bundle
from skilljuror.study.waivers import store_for

ASKED = (
    "Is the variant acceptable here? Choose whether this is already in the source, comes from packaging,"
    " or is a repair that preserves the knowledge; otherwise reject it."
)
FAILED = ". The gate failed the variant: your answer is recorded, but only a waiver lets it pass."
SUSPICION = {"high": 0.9, "medium": 0.7, "low": 0.5}
"""Review priority by severity; halved if no decision can change the verdict."""
AROUND = 12
"""Lines shown before and after a mark."""
HEAD = 40
"""Lines shown of a file without marks."""


class Question(Struct, frozen=True):
    """A question for a reviewer."""

    item: ReviewItem
    """The question, including the machine's verdict."""
    seen: str
    """Digest of its subject: an answer about another digest is stale."""
    stores: dict[str, Path]
    """Id of the item and of each repeat -> file for its answers."""


def excerpt(heading: str, text: str, places: Iterable[tuple[int, int]]) -> ReviewText:
    """Cut a text around inclusive 1-based line ranges and mark them; without ranges, cut its beginning.
    The line numbers are added to the heading."""
    lines = text.split("\n")
    ranges = [(max(1, first), min(last, len(lines))) for first, last in places]
    ranges = [(first, last) for first, last in ranges if first <= last]
    begin = max(1, min((first for first, _ in ranges), default=1) - AROUND)
    end = min(len(lines), max((last for _, last in ranges), default=HEAD - AROUND) + AROUND)
    starts = {begin: 0}
    for number in range(begin, end + 1):
        starts[number + 1] = starts[number] + len(lines[number - 1]) + 1
    marks = tuple((starts[first], starts[last + 1] - 1) for first, last in sorted(set(ranges)))
    return ReviewText(f"{heading}:{begin}-{end}", "\n".join(lines[begin - 1 : end]), marks)


class BuildTexts:
    """The texts of a build, read on first use."""

    def __init__(self, build: Path) -> None:
        self._build = build
        self._variants: dict[str, Bundle | None] = {}

    def bundle(self, variant: str) -> Bundle | None:
        """Return a variant; None if it cannot be read."""
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
        """The saved source; None if missing."""
        record = read_record(BuildRecord, self._build / RECORD)
        try:
            return saved_source(self._build, record)
        except BundleError:
            return None

    @cached_property
    def units(self) -> tuple[MappedUnit, ...]:
        """The knowledge map."""
        return units_of_build(self._build)

    def both_sides(self, result: GateResult, finding: Finding) -> tuple[ReviewText, ...]:
        """Return the texts of a finding in the source and in the variant."""
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
        """The quoted unit and its place in the variant; of equal units the one at the finding's place."""
        same = [row for row in self.units if cut_text(row.unit.text) == finding.source_text]
        rows = [(row.unit, None if missing else row.places.get(variant)) for row in same]
        at = (finding.file, finding.line)
        for unit, place in rows:
            where = unit if missing else place
            if where and (where.file, where.start) == at:
                return unit, place
        return rows[0] if rows else (None, None)


def _side(
    name: str, bundle: Bundle | None, places: dict[str, tuple[int, int]], quoted: str | None
) -> Iterator[ReviewText]:
    """Excerpts around the places of one side, else the gate's quote."""
    shown = False
    for file, lines in places.items():
        blob = bundle.files.get(file) if bundle else None
        if blob is not None and blob.text is not None:
            shown = True
            yield excerpt(f"{name} · {file}", blob.text, [lines])
    if quoted is not None and not shown:
        yield ReviewText(f"{name} · quoted by the gate", quoted, ((0, len(quoted)),))


def finding_questions(place: Path, builds: list[Path]) -> list[Question]:
    """Return one question per flagged finding; equal findings of one source share one."""
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
        texts=texts[build].both_sides(result, finding),
        machine=f"{result.gate} {result.verdict}: {finding.rule} ({finding.severity}): {finding.message}"
        + FAILED * failed,
        repeats=tuple(others),
    )
    return Question(item, seen_in(finding), stores)
