"""Does everything that the text points at exist, and nothing lie about that does not belong?"""

from collections.abc import Iterator
from typing import ClassVar

from skilljuror.gates.findings import Observation, differential, gate_result
from skilljuror.gates.pathnames import path_facts
from skilljuror.gates.pointers import pointer_facts
from skilljuror.knowledge.units.extract import cached_by_bundles, units_of
from skilljuror.models.bundle import Bundle
from skilljuror.models.gate import GateResult
from skilljuror.models.knowledge import CONTENT_KINDS, Unit


class HygieneGate:
    """Links, anchors, commands, stale paths, litter, collisions, leftovers; all differential."""

    name: ClassVar[str] = "hygiene"

    def check(self, parent: Bundle, variant: Bundle, kind: str, policy: str) -> GateResult:
        """The answer for one pair; real skills have broken links, so most are inherited."""
        findings = differential(_facts(parent), _facts(variant))
        after = units_of(variant)
        checked = {
            "link": sum(unit.kind == "link" for unit in after),
            "heading": sum(unit.kind == "heading" for unit in after),
            "path": len(variant.files),
        }
        return gate_result(self.name, (parent, variant), policy, findings, checked)


@cached_by_bundles
def _facts(bundle: Bundle) -> list[Observation]:
    units = units_of(bundle)
    return [*pointer_facts(bundle, units), *path_facts(bundle, units), *_empty_headings(units)]


def _empty_headings(units: list[Unit]) -> Iterator[Observation]:
    """Headings without text or a lower heading below them."""
    content = [unit for unit in units if unit.kind in CONTENT_KINDS and unit.kind != "field"]
    for unit, following in zip(content, [*content[1:], None], strict=False):
        if unit.kind != "heading" or unit.generated:
            continue
        inside = following and following.file == unit.file and unit.text in following.headings
        if not inside:
            yield Observation("hygiene.empty-heading", unit.text, unit.file, unit.start, unit.text)
