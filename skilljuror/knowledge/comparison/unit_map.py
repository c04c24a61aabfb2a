"""The place of each unit of a source in each variant."""

from skilljuror.knowledge.comparison.unit_matching import match_units
from skilljuror.knowledge.units.extract import units_of
from skilljuror.knowledge.units.normalised_text import TextNormaliser
from skilljuror.models.bundle import Bundle
from skilljuror.models.knowledge import MappedUnit, Unit, UnitLocation


def knowledge_map(source: Bundle, variants: dict[str, Bundle]) -> list[MappedUnit]:
    """Return one row per unit of `source`, in reading order, with its place in every variant.

    Units are located by text alone, without a plan, so this works for variants made elsewhere: equal text
    first, then similar text. If the variant has fewer copies of a text, the remaining occurrences get the place
    of the last one. None means missing.
    """
    units = units_of(source)
    located: dict[str, dict[str, UnitLocation]] = {}
    for name in sorted(variants):
        same = (other for other in located if variants[other].files == variants[name].files)
        twin = next(same, None)
        located[name] = located[twin] if twin else _locate(source, units, variants[name])
    return [
        MappedUnit(unit, {name: where.get(unit.unit) for name, where in located.items()})
        for unit in units
    ]


def _locate(source: Bundle, units: list[Unit], variant: Bundle) -> dict[str, UnitLocation]:
    """Id of a unit of the source -> its place in the variant."""
    if source.files == variant.files:
        return {unit.unit: _location(unit) for unit in units}
    others = units_of(variant)
    normaliser = TextNormaliser((source, variant), (units, others))
    matching = match_units(units, others, normaliser)
    located = {before.unit: _location(after) for before, after in matching.same}
    located.update({pair.before.unit: _location(pair.after) for pair in matching.alike})
    by_text = {(unit.kind, normaliser.text(unit)): unit for unit in others}
    for unit in matching.missing:
        copy = by_text.get((unit.kind, normaliser.text(unit)))
        if copy is not None:
            located[unit.unit] = _location(copy)
    return located


def _location(unit: Unit) -> UnitLocation:
    return UnitLocation(unit.file, unit.start, unit.end)
