"""origin-flat: every skill of the source becomes one self-contained SKILL.md; roots stay apart."""

from typing import Any, ClassVar

from skilljuror.errors import TransformError
from skilljuror.knowledge.render import Sources
from skilljuror.models.bundle import Bundle
from skilljuror.models.plan import Plan
from skilljuror.transforms.flatten import Flat, Flattener, class_of, files_beside, files_of
from skilljuror.transforms.page import Page


class OriginFlat:
    """One SKILL.md for each skill, its own files inlined; data stays beside it."""

    variant: ClassVar[str] = "origin-flat"
    parent: ClassVar[str] = "source"

    def plan(self, parent: Bundle, params: dict[str, Any]) -> Plan:
        """The plan; files that lie in no skill go to the first one."""
        require_skills(parent)
        sources, flat = Sources(parent.files), Flat()
        for number, skill in enumerate(parent.skills):
            page = Page(f"{skill.directory}/SKILL.md", sources)
            flattener = Flattener(parent, sources, page, flat)
            flattener.strip = skill.directory
            flattener.frontmatter(skill)
            flattener.body(skill, least=1)
            beside = files_beside(parent) if number == 0 else []
            for path in [*files_of(parent, skill), *beside]:
                if number == 0 and path in beside and class_of(parent, path) == "data":
                    flat.sidecars[path] = path
                else:
                    flattener.embed(path)
            flat.files.append(page.planned())
        return finished(self.variant, self.parent, flat)


def require_skills(parent: Bundle) -> None:
    """Raises TransformError for a bundle without any skill."""
    if not parent.skills:
        raise TransformError(
            f"bundle {parent.name!r} has no SKILL.md in any folder; point at a skill's folder, or "
            "at a folder of skills"
        )


def finished(variant: str, parent: str, flat: Flat) -> Plan:
    """The plan from its gathered parts."""
    return Plan(
        variant,
        parent,
        tuple(flat.files),
        sidecars=dict(sorted(flat.sidecars.items())),
        dropped=dict(sorted(flat.dropped.items())),
        flags=dict(sorted(flat.flags.items())),
        omitted=tuple(flat.omitted),
        notes=tuple(flat.notes),
    )
