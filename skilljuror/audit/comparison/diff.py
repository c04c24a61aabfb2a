"""Compare the knowledge of a parent and a variant."""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence

from skilljuror.audit.comparison.code_paths import BundlePaths, code_of, is_absolute, path_literals
from skilljuror.audit.comparison.context import (
    below_other_headings,
    below_other_skills,
    led_by_others,
    sections_below_siblings,
    swapped_lines,
    swapped_steps,
)
from skilljuror.audit.comparison.file_matching import (
    FilePairs,
    LinesOf,
    pair_files,
    with_lines,
)
from skilljuror.audit.comparison.function_words import function_word_change
from skilljuror.audit.comparison.generated_lines import GeneratedLineProvenance
from skilljuror.audit.comparison.lead_lines import LeadLines
from skilljuror.audit.comparison.link_targets import LinkComparison
from skilljuror.audit.comparison.nesting import nested_otherwise
from skilljuror.audit.comparison.normalised_text import TextNormaliser
from skilljuror.audit.comparison.opposites import contrasts, has_opposites
from skilljuror.audit.comparison.same_words import WordStream, is_as_often, is_copy
from skilljuror.audit.comparison.unit_matching import AlikePair, MatchedBundles, match_units
from skilljuror.base.skill import CONTENT_KINDS, Bundle, ChangeKind, Unit, UnitDiff, UnitPair
from skilljuror.skill.critical_tokens import critical_change
from skilljuror.skill.generated import template_of_heading
from skilljuror.skill.units import cached_by_bundles, units_of


def changed_code_paths(both: MatchedBundles) -> Iterator[UnitPair]:
    """Yield pairs that are equal without their folders, but name other paths in their code.

    A path may follow a moved file: from one that leads nowhere in the variant to one that leads there from a
    working folder. Any other change makes the code another program, even if both paths end in the same name.
    """
    changed = [*_changed(both)]
    if changed:
        paths = BundlePaths(both.parent, both.old), BundlePaths(both.variant, both.new)
        for before, after in changed:
            if not _follows(before, after, *paths):
                yield UnitPair(before, after, change="path")


def _changed(both: MatchedBundles) -> Iterator[tuple[Unit, Unit]]:
    """Pairs whose code differs. Texts that are equal without folders are interchangeable."""
    groups: dict[str, list[tuple[Unit, Unit]]] = defaultdict(list)
    for before, after in both.matching.same:
        if before.text != after.text and code_of(before) != code_of(after):
            groups[both.normaliser.text(before)].append((before, after))
    for pairs in groups.values():
        old, new = [before for before, _ in pairs], [after for _, after in pairs]
        yield from zip(_beyond(old, new), _beyond(new, old), strict=True)


def _beyond(units: Sequence[Unit], others: Sequence[Unit]) -> list[Unit]:
    spare = Counter(map(code_of, others))
    beyond = []
    for unit in units:
        spare[code_of(unit)] -= 1
        if spare[code_of(unit)] < 0:
            beyond.append(unit)
    return beyond


def _follows(before: Unit, after: Unit, parent: BundlePaths, variant: BundlePaths) -> bool:
    old, new = (
        [path for code in code_of(unit) for path in path_literals(code)] for unit in (before, after)
    )
    return (
        old != new
        and len(old) == len(new)
        and all(
            not is_absolute(path)
            and not is_absolute(other)
            and parent.place(path, before.file) is not None
            and variant.place(path, after.file) is None
            and variant.place(other, after.file) is not None
            for path, other in zip(old, new, strict=True)
            if path != other
        )
    )


_WORD = re.compile(r"\w+")
_VERBATIM: dict[str, ChangeKind] = {"code": "code", "row": "row"}


@cached_by_bundles
def diff(parent: Bundle, variant: Bundle) -> UnitDiff:
    """Compare the content of two bundles, wherever it is.

    A pair is reworded if its critical tokens are the same in the same order. It is altered if they differ, or
    if words are reordered or replaced by opposites. Any change of a code line, table row, frontmatter field, a
    file's bytes or name, or the order of two steps is an alteration too. Generated lines and hand-written
    routing lines are separate from additions. (transforms §5.2)
    """
    old = units_of(parent)
    if parent.files == variant.files:
        return UnitDiff(compared=_compared(old))
    new = units_of(variant)
    normaliser = TextNormaliser((parent, variant), (old, new))
    files = pair_files(_of_kind(old, "file"), _of_kind(new, "file"))
    changed = [pair for pair in files.altered if pair.change == "content"]
    lines = LinesOf(old), LinesOf(new)
    content = _content(lines[0].without(old, (p.before for p in changed)))
    content_now = _content(lines[1].without(new, (p.after for p in changed)))
    matching = match_units(content, content_now, normaliser)
    both = MatchedBundles(parent, variant, old, new, normaliser, matching)
    links = LinkComparison(both)
    contrasted = contrasts(unit.text for unit in old) if matching.alike else frozenset()
    leads = LeadLines(both)
    pairs = [_classified(pair, both, leads, links, contrasted) for pair in matching.alike]
    altered = [pair for pair in pairs if pair.change is not None]
    altered += [with_lines(pair, *lines) for pair in files.altered]
    altered += _executable(files, parent, variant)
    altered += swapped_steps(both)
    altered += swapped_lines(both)
    paths = list(changed_code_paths(both))
    altered += paths
    reported = {pair.after for pair in paths}
    altered += links.mentions(same for same in matching.same if same[1] not in reported)
    altered += links.links()
    altered += links.exchanged()
    altered += nested_otherwise(both)
    provenance = GeneratedLineProvenance(both)
    generated, added = _partition(matching.added, provenance.template)
    titles = frozenset(unit.text for unit in _of_kind(new, "heading"))
    missing = [unit for unit in matching.missing if not _is_no_loss(unit, titles)]
    words, words_now = (WordStream(side, normaliser) for side in (content, content_now))
    kept, missing = _partition(missing, lambda unit: is_as_often(unit, words, words_now))
    copies, missing = _partition(missing, words_now.count)
    added = lines[1].without(added, files.added)  # a new file is one finding
    repeated, added = _partition(
        added, lambda unit: is_as_often(unit, words_now, words) or is_copy(unit, words)
    )
    routing, added = _partition(added, leads.includes)
    return UnitDiff(
        compared=_compared(old),
        reworded=tuple(pair for pair in pairs if pair.change is None),
        altered=tuple(altered),
        missing=(*files.missing, *missing),
        added=(*files.added, *added),
        moved=(
            *below_other_headings(both, provenance),
            *below_other_skills(both),
            *sections_below_siblings(both),
            *led_by_others(both),
        ),
        generated=tuple(generated),
        routing=tuple(routing),
        kept=tuple(kept),
        copies=tuple(copies),
        repeated=tuple(repeated),
    )


def _compared(units: Sequence[Unit]) -> dict[str, int]:
    return dict(sorted(Counter(unit.kind for unit in units).items()))


def _content(units: Sequence[Unit]) -> list[Unit]:
    return [unit for unit in units if unit.kind in CONTENT_KINDS]


def _of_kind(units: Sequence[Unit], kind: str) -> list[Unit]:
    return [unit for unit in units if unit.kind == kind]


def _is_no_loss(unit: Unit, variant_headings: frozenset[str]) -> bool:
    """Whether a missing unit is no loss: a generated one, or a heading with a copy."""
    generated = unit.kind == "heading" and template_of_heading(unit.text) is not None
    copied = unit.kind == "heading" and unit.text in variant_headings
    return generated or copied or unit.generated is not None


def _classified(
    pair: AlikePair,
    both: MatchedBundles,
    leads: LeadLines,
    links: LinkComparison,
    contrasted: frozenset[tuple[str, str]],
) -> UnitPair:
    before, after, normaliser = pair.before, pair.after, both.normaliser
    if before.kind == "field":
        return UnitPair(before, after, round(pair.ratio, 3), "field")
    change = critical_change(normaliser.critical_tokens(before), normaliser.critical_tokens(after))
    if change is not None and leads.only_points(before, after):
        change = None
    if change in {None, "reference", "order"}:
        change = _VERBATIM.get(before.kind, change)
    change = change or _reordered(normaliser.text(before), normaliser.text(after))
    change = change or ("reference" if links.confused(before, after) else None)
    if change is None and has_opposites(before.text, after.text, contrasted):
        change = "opposite"
    change = change or function_word_change(normaliser.text(before), normaliser.text(after))
    return UnitPair(before, after, round(pair.ratio, 3), change)


def _reordered(before: str, after: str) -> ChangeKind | None:
    old, new = _WORD.findall(before), _WORD.findall(after)
    return "order" if old != new and sorted(old) == sorted(new) else None


def _executable(files: FilePairs, parent: Bundle, variant: Bundle) -> Iterator[UnitPair]:
    """Files with the same bytes but a changed execute bit; fenced files have none."""
    for before, after in files.same:
        bits = [bundle.files[unit.file].executable
                for bundle, unit in ((parent, before), (variant, after))
                if unit.text.startswith(f"{unit.file} ")]  # fmt: skip
        if len(set(bits)) == 2:
            yield UnitPair(before, after, change="executable")


def _partition(
    units: Sequence[Unit], holds: Callable[[Unit], object]
) -> tuple[list[Unit], list[Unit]]:
    held = [bool(holds(unit)) for unit in units]
    pairs = list(zip(units, held, strict=True))
    return [unit for unit, yes in pairs if yes], [unit for unit, yes in pairs if not yes]
