"""Paths in code: does what a variant's code names lie where the code looks for it?"""

from collections.abc import Iterator, Mapping

from skilljuror.gates.findings import Observation
from skilljuror.knowledge.units.code_paths import (
    BundlePaths,
    announced_files,
    carried_files,
    code_of,
    commanded_paths,
    path_literals,
)
from skilljuror.knowledge.units.extract import cached_by_bundles, units_of
from skilljuror.models.bundle import Bundle
from skilljuror.models.knowledge import Unit


def unresolved_paths(parent: Bundle, variant: Bundle) -> Iterator[Observation]:
    """Paths in the variant's code that led into the parent and lead nowhere in the variant, each
    once. What never led anywhere, such as the name of an output, is not asked for."""
    known, _ = _paths_in_code(parent)
    _, lost = _paths_in_code(variant)
    for literal, unit in lost.items():
        if literal in known:
            yield Observation("hygiene.unresolved-path", literal, unit.file, unit.start, literal)


@cached_by_bundles
def _paths_in_code(bundle: Bundle) -> tuple[Mapping[str, Unit], Mapping[str, Unit]]:
    """The paths in the code of a bundle that lead to something in it, and those that do not, each
    with the unit that names it first."""
    units = units_of(bundle)
    paths = BundlePaths(bundle, units)
    known: dict[str, Unit] = {}
    lost: dict[str, Unit] = {}
    for unit in units:
        for literal in (path for code in code_of(unit) for path in path_literals(code)):
            side = lost if paths.place_from_anywhere(literal) is None else known
            side.setdefault(literal, unit)
    return known, lost


def unwritten_files(bundle: Bundle) -> Iterator[Observation]:
    """Files that a command names, that stand on a page alone, and that no line says to write out;
    each once."""
    units = units_of(bundle)
    unwritten = {*carried_files(units)} - {*announced_files(units), *bundle.files}
    for unit, path in commanded_paths(bundle) if unwritten else ():
        if path in unwritten:
            unwritten.remove(path)
            yield Observation("hygiene.unwritten-file", path, unit.file, unit.start, unit.text)
