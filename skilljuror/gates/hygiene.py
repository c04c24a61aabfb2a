"""Does everything that the text points at exist, and nothing lie about that does not belong?"""

from collections.abc import Iterator
from typing import ClassVar

from skilljuror.gates.findings import Fact, answer, differential, kept
from skilljuror.gates.pathnames import path_facts
from skilljuror.gates.pointers import pointer_facts
from skilljuror.knowledge.units.extract import units_of
from skilljuror.models.bundle import Bundle
from skilljuror.models.gate import GateResult
from skilljuror.models.knowledge import CONTENT_KINDS, Unit


class Hygiene:
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
        return answer(self.name, (parent, variant), policy, findings, checked)


@kept
def _facts(bundle: Bundle) -> Iterator[Fact]:
    units = units_of(bundle)
    yield from pointer_facts(bundle, units)
    yield from path_facts(bundle, units)
    yield from _empty_headings(units)


def _empty_headings(units: list[Unit]) -> Iterator[Fact]:
    """Headings without text or a lower heading below them."""
    content = [unit for unit in units if unit.kind in CONTENT_KINDS and unit.kind != "field"]
    for unit, following in zip(content, [*content[1:], None], strict=False):
        if unit.kind != "heading" or unit.generated:
            continue
        inside = following and following.file == unit.file and unit.text in following.headings
        if not inside:
            yield Fact("hygiene.empty-heading", unit.text, unit.file, unit.start, unit.text)
