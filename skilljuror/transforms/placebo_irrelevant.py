"""placebo-irrelevant: as long as the baseline, about something else. It separates what a Skill
says from the mere presence of a Skill of that length."""

from typing import Any, ClassVar

from skilljuror.models.bundle import Bundle
from skilljuror.models.plan import Copy, Generated, Omitted, Plan, PlannedFile
from skilljuror.transforms.filler import like
from skilljuror.transforms.pd import flat_skill


class IrrelevantPlacebo:
    """The frontmatter of the baseline, so that it is offered and opened alike, over a body of the
    same outline and length that says nothing about any task."""

    variant: ClassVar[str] = "placebo-irrelevant"
    parent: ClassVar[str] = "baseline"
    stands_for: ClassVar[str] = "baseline"
    expected: ClassVar[tuple[str, ...]] = ("knowledge.*", "hygiene.empty-heading")

    def plan(self, parent: Bundle, params: dict[str, Any]) -> Plan:
        """The plan; data beside the page is left out, for a task may need it."""
        flat, sources = flat_skill(parent, self.variant)
        flags = sources.text(flat.path).flags
        skip = flat.document.skip
        body = list(flat.lines[skip:])
        headings = {heading.start - skip for heading in flat.document.headings}
        pieces: list[Copy | Generated] = [Copy(flat.path, 1, skip)]
        pieces += [Generated("filler", {"line": line}) for line in like(body, headings)]
        return Plan(
            self.variant,
            self.parent,
            (PlannedFile(flat.path, tuple(pieces)),),
            dropped={path: "not of the placebo" for path in parent.files if path != flat.path},
            flags={flat.path: flags} if flags else {},
            omitted=tuple(
                Omitted(flat.path, number, line) for number, line in enumerate(body, skip + 1)
            ),
            notes=("a control: it says nothing of what its parent says",),
        )
