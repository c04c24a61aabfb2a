"""What became of the knowledge of a parent in a variant."""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache

from skilljuror.knowledge.comparison.file_matching import FilePairs, pair_files
from skilljuror.knowledge.comparison.generated_lines import GeneratedLineProvenance
from skilljuror.knowledge.comparison.link_targets import LinkComparison
from skilljuror.knowledge.comparison.ordering import swapped_lines, swapped_steps
from skilljuror.knowledge.comparison.routing_lines import RoutingLines
from skilljuror.knowledge.comparison.unit_matching import (
    AlikePair,
    UnitMatching,
    heading_above,
    headings_above,
    match_units,
)
from skilljuror.knowledge.generated.templates import template_of_heading
from skilljuror.knowledge.units.critical_tokens import critical_change
from skilljuror.knowledge.units.extract import units_of
from skilljuror.knowledge.units.normalised_text import TextNormaliser
from skilljuror.models.bundle import Blob, Bundle, Skill
from skilljuror.models.knowledge import CONTENT_KINDS, ChangeKind, Unit, UnitDiff, UnitPair

_WORD = re.compile(r"\w+")
_VERBATIM: dict[str, ChangeKind] = {"code": "code", "row": "row", "field": "field"}


def diff(parent: Bundle, variant: Bundle) -> UnitDiff:
    """Compare what two bundles say, without regard to where they say it.

    A pair with the same critical tokens in the same order is reworded; with others, or with the
    same words in another order, it is altered; so is any change of a code line, a table row or a
    frontmatter field, a file's bytes or name, and the order of two steps that both still stand.
    Lines made by a generator are told apart by `origin`. (transforms §5.2)
    """
    return _diff(_held(parent), _held(variant))


_Held = tuple[str, tuple[tuple[str, Blob], ...], tuple[Skill, ...]]


def _held(bundle: Bundle) -> _Held:
    return bundle.name, tuple(bundle.files.items()), bundle.skills


@lru_cache(maxsize=4)
def _diff(held: _Held, other: _Held) -> UnitDiff:
    """Kept, because more than one gate asks for the same pair."""
    parent, variant = (Bundle(name, dict(files), skills) for name, files, skills in (held, other))
    old = units_of(parent)
    if parent.files == variant.files:
        return UnitDiff(compared=_compared(old))
    new = units_of(variant)
    normal = TextNormaliser((parent, variant), (old, new))
    matching = match_units(_content(old), _content(new), normal)
    files = pair_files(_of(old, "file"), _of(new, "file"))
    aimed = LinkComparison((parent, variant), (old, new), normal)
    pairs = [_judged(pair, normal, aimed) for pair in matching.alike]
    altered = [pair for pair in pairs if pair.change is not None]
    altered += files.altered
    altered += _executable(files, parent, variant)
    altered += swapped_steps(_of(old, "step"), _of(new, "step"), matching, normal)
    altered += swapped_lines(old, matching)
    altered += aimed.mentions(matching.same)
    altered += aimed.links(matching)
    makings = GeneratedLineProvenance((parent, variant), (old, new), matching)
    made, added = _parted(matching.added, makings.template)
    leads, added = _parted(added, RoutingLines(variant, new).leads)
    titles = frozenset(unit.text for unit in _of(new, "heading"))
    return UnitDiff(
        compared=_compared(old),
        reworded=tuple(pair for pair in pairs if pair.change is None),
        altered=tuple(altered),
        missing=(*files.missing, *(u for u in matching.missing if not _is_spare(u, titles))),
        added=(*files.added, *added),
        moved=tuple(_moved(matching, makings, (old, new))),
        generated=tuple(made),
        leads=tuple(leads),
    )


def _compared(units: Sequence[Unit]) -> dict[str, int]:
    return dict(sorted(Counter(unit.kind for unit in units).items()))


def _content(units: Sequence[Unit]) -> list[Unit]:
    return [unit for unit in units if unit.kind in CONTENT_KINDS]


def _of(units: Sequence[Unit], kind: str) -> list[Unit]:
    return [unit for unit in units if unit.kind == kind]


def _is_spare(unit: Unit, titles: frozenset[str]) -> bool:
    """Whether a unit that is gone is no loss: a generator's, or a heading of which a copy stands."""
    if unit.kind == "heading" and (template_of_heading(unit.text) or unit.text in titles):
        return True
    return unit.generated is not None


def _judged(pair: AlikePair, normal: TextNormaliser, aimed: LinkComparison) -> UnitPair:
    before, after = pair.before, pair.after
    change = critical_change(normal.critical_tokens(before), normal.critical_tokens(after))
    if change in {None, "reference", "order"}:
        change = _VERBATIM.get(before.kind, change)
    change = change or _reordered(normal.text(before), normal.text(after))
    change = change or ("reference" if aimed.confused(before, after) else None)
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


def _parted(
    units: Sequence[Unit], holds: Callable[[Unit], object]
) -> tuple[list[Unit], list[Unit]]:
    """The units for which something holds, and the others."""
    held = [bool(holds(unit)) for unit in units]
    pairs = list(zip(units, held, strict=True))
    return [unit for unit, yes in pairs if yes], [unit for unit, yes in pairs if not yes]


_Units = Sequence[Unit]


def _moved(
    matching: UnitMatching, makings: GeneratedLineProvenance, sides: tuple[_Units, _Units]
) -> Iterator[UnitPair]:
    """Same text below another heading of the parent, though its own heading still stands."""
    old, new = sides
    standing = {unit.text for unit in new if unit.kind == "heading"} | {""}
    renamed = {p.before.text: p.after.text for p in matching.alike if p.before.kind == "heading"}
    below, still = _below(old), _below(new)
    for before, after in matching.same:
        home, here = heading_above(before), heading_above(after)
        if before.kind in {"heading", "field"}:
            continue
        if home == here:
            homes, there = headings_above(before), headings_above(after)
            if homes != there and homes in still and there in below:
                yield UnitPair(before, after)
        elif here in {"", renamed.get(home)} or home not in standing:
            continue
        elif not makings.is_made_heading(here, home):
            yield UnitPair(before, after)


def _below(units: Sequence[Unit]) -> frozenset[tuple[str, ...]]:
    """Headings with the one above them, for headings of one name tell nothing by themselves."""
    titles = [unit for unit in units if unit.kind == "heading" and unit.headings]
    return frozenset((unit.headings[-1], unit.text) for unit in titles)
