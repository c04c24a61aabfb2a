"""Where each unit of a source stands in each variant."""

from skilljuror.knowledge.comparison.unit_matching import match_units
from skilljuror.knowledge.units.extract import units_of
from skilljuror.knowledge.units.normalised_text import TextNormaliser
from skilljuror.models.bundle import Bundle
from skilljuror.models.knowledge import MappedUnit, Unit, UnitLocation


def knowledge_map(source: Bundle, variants: dict[str, Bundle]) -> list[MappedUnit]:
    """One row per unit of `source`, in reading order, with its place in every variant.

    Units are found by their text alone, never by a plan, so that it works for variants made
    elsewhere: equal text first, then the most alike. Of a text that the source holds several
    times and the variant fewer times, each occurrence that is left over stands where the last
    one stands. None means that the variant does not say it.
    """
    units = units_of(source)
    found: dict[str, dict[str, UnitLocation]] = {}
    for name in sorted(variants):
        same = (other for other in found if variants[other].files == variants[name].files)
        twin = next(same, None)
        found[name] = found[twin] if twin else _places(source, units, variants[name])
    return [
        MappedUnit(unit, {name: places.get(unit.unit) for name, places in found.items()})
        for unit in units
    ]


def _places(source: Bundle, units: list[Unit], variant: Bundle) -> dict[str, UnitLocation]:
    if source.files == variant.files:
        return {unit.unit: _place(unit) for unit in units}
    others = units_of(variant)
    normal = TextNormaliser((source, variant), (units, others))
    matching = match_units(units, others, normal)
    places = {before.unit: _place(after) for before, after in matching.same}
    places.update({pair.before.unit: _place(pair.after) for pair in matching.alike})
    standing = {(unit.kind, normal.text(unit)): unit for unit in others}
    for unit in matching.missing:
        copy = standing.get((unit.kind, normal.text(unit)))
        if copy is not None:
            places[unit.unit] = _place(copy)
    return places


def _place(unit: Unit) -> UnitLocation:
    return UnitLocation(unit.file, unit.start, unit.end)
