"""What became of the knowledge of a parent in a variant."""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence

from skilljuror.knowledge.comparison.code_paths import changed_code_paths
from skilljuror.knowledge.comparison.context import (
    below_other_headings,
    below_other_skills,
    led_by_others,
    sections_below_siblings,
)
from skilljuror.knowledge.comparison.file_matching import FilePairs, pair_files
from skilljuror.knowledge.comparison.generated_lines import GeneratedLineProvenance
from skilljuror.knowledge.comparison.link_targets import LinkComparison
from skilljuror.knowledge.comparison.ordering import swapped_lines, swapped_steps
from skilljuror.knowledge.comparison.routing_lines import RoutingLines
from skilljuror.knowledge.comparison.unit_matching import (
    AlikePair,
    match_units,
)
from skilljuror.knowledge.generated.templates import template_of_heading
from skilljuror.knowledge.units.critical_tokens import critical_change
from skilljuror.knowledge.units.extract import cached_by_bundles, units_of
from skilljuror.knowledge.units.normalised_text import TextNormaliser
from skilljuror.knowledge.units.opposites import contrasts, turned_round
from skilljuror.models.bundle import Bundle
from skilljuror.models.knowledge import CONTENT_KINDS, ChangeKind, Unit, UnitDiff, UnitPair

_WORD = re.compile(r"\w+")
_VERBATIM: dict[str, ChangeKind] = {"code": "code", "row": "row", "field": "field"}


@cached_by_bundles
def diff(parent: Bundle, variant: Bundle) -> UnitDiff:
    """Compare what two bundles say, without regard to where they say it.

    A pair with the same critical tokens in the same order is reworded; with others, with the same
    words in another order or with a word turned into its opposite, it is altered; so is any change of
    a code line, a table row or a frontmatter field, a file's bytes or name, and the order of two steps
    that both still stand.
    Generated lines and hand-written routing lines are listed apart from what was added.
    (transforms §5.2)
    """
    old = units_of(parent)
    if parent.files == variant.files:
        return UnitDiff(compared=_compared(old))
    new = units_of(variant)
    normaliser = TextNormaliser((parent, variant), (old, new))
    matching = match_units(_content(old), _content(new), normaliser)
    files = pair_files(_of_kind(old, "file"), _of_kind(new, "file"))
    links = LinkComparison((parent, variant), (old, new), normaliser)
    contrasted = contrasts(unit.text for unit in old) if matching.alike else frozenset()
    pairs = [_classified(pair, normaliser, links, contrasted) for pair in matching.alike]
    altered = [pair for pair in pairs if pair.change is not None]
    altered += files.altered
    altered += _executable(files, parent, variant)
    altered += swapped_steps(old, new, matching)
    altered += swapped_lines(old, matching)
    paths = list(changed_code_paths((parent, variant), (old, new), matching, normaliser))
    altered += paths
    told = {pair.after for pair in paths}
    altered += links.mentions(same for same in matching.same if same[1] not in told)
    altered += links.links(matching)
    provenance = GeneratedLineProvenance((parent, variant), (old, new), matching)
    generated, added = _partition(matching.added, provenance.template)
    routing, added = _partition(added, RoutingLines(variant, new).includes)
    titles = frozenset(unit.text for unit in _of_kind(new, "heading"))
    return UnitDiff(
        compared=_compared(old),
        reworded=tuple(pair for pair in pairs if pair.change is None),
        altered=tuple(altered),
        missing=(*files.missing, *(u for u in matching.missing if not _is_no_loss(u, titles))),
        added=(*files.added, *added),
        moved=(
            *below_other_headings(matching, provenance, (old, new)),
            *below_other_skills(matching, (parent, variant), (old, new)),
            *sections_below_siblings(matching, (old, new)),
            *led_by_others(matching, (old, new), normaliser),
        ),
        generated=tuple(generated),
        routing=tuple(routing),
    )


def _compared(units: Sequence[Unit]) -> dict[str, int]:
    return dict(sorted(Counter(unit.kind for unit in units).items()))


def _content(units: Sequence[Unit]) -> list[Unit]:
    return [unit for unit in units if unit.kind in CONTENT_KINDS]


def _of_kind(units: Sequence[Unit], kind: str) -> list[Unit]:
    return [unit for unit in units if unit.kind == kind]


def _is_no_loss(unit: Unit, variant_headings: frozenset[str]) -> bool:
    """Whether a unit that is gone is no loss: a generated one, or a heading of which a copy stands."""
    generated = unit.kind == "heading" and template_of_heading(unit.text) is not None
    copied = unit.kind == "heading" and unit.text in variant_headings
    return generated or copied or unit.generated is not None


def _classified(
    pair: AlikePair,
    normaliser: TextNormaliser,
    links: LinkComparison,
    contrasted: frozenset[tuple[str, str]],
) -> UnitPair:
    before, after = pair.before, pair.after
    change = critical_change(normaliser.critical_tokens(before), normaliser.critical_tokens(after))
    if change in {None, "reference", "order"}:
        change = _VERBATIM.get(before.kind, change)
    change = change or _reordered(normaliser.text(before), normaliser.text(after))
    change = change or ("reference" if links.confused(before, after) else None)
    if change is None and turned_round(before.text, after.text, contrasted):
        change = "opposite"
    return UnitPair(before, after, round(pair.ratio, 3), change)


def _reordered(before: str, after: str) -> ChangeKind | None:
    """Whether the same words stand in another order."""
    old, new = _WORD.findall(before), _WORD.findall(after)
    return "order" if old != new and sorted(old) == sorted(new) else None


def _executable(files: FilePairs, parent: Bundle, variant: Bundle) -> Iterator[UnitPair]:
    """Files with the same bytes whose execute bit changed; a file in a fence has no bit."""
    for before, after in files.same:
        bits = [bundle.files[unit.file].executable
                for bundle, unit in ((parent, before), (variant, after))
                if unit.text.startswith(f"{unit.file} ")]  # fmt: skip
        if len(set(bits)) == 2:
            yield UnitPair(before, after, change="executable")


def _partition(
    units: Sequence[Unit], holds: Callable[[Unit], object]
) -> tuple[list[Unit], list[Unit]]:
    """The units for which something holds, and the others."""
    held = [bool(holds(unit)) for unit in units]
    pairs = list(zip(units, held, strict=True))
    return [unit for unit, yes in pairs if yes], [unit for unit, yes in pairs if not yes]
