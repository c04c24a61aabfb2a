"""origin-flat: every skill of the source becomes one self-contained SKILL.md; roots stay apart."""

from typing import Any, ClassVar

from skilljuror.knowledge.plans.render import BundleTexts
from skilljuror.models.bundle import Bundle
from skilljuror.models.plan import Plan
from skilljuror.models.resource_class import resource_class
from skilljuror.transforms.flattening.flattener import (
    Flat,
    Flattener,
    files_beside,
    files_of,
    finished,
    require_skills,
)
from skilljuror.transforms.editing.page_builder import Page


class OriginFlat:
    """One SKILL.md for each skill, its own files inlined; data stays beside it."""

    variant: ClassVar[str] = "origin-flat"
    parent: ClassVar[str] = "source"

    def plan(self, parent: Bundle, params: dict[str, Any]) -> Plan:
        """The plan; files that lie in no skill go to the first one."""
        require_skills(parent)
        sources, flat = BundleTexts(parent.files), Flat()
        for number, skill in enumerate(parent.skills):
            page = Page(f"{skill.directory}/SKILL.md", sources)
            flattener = Flattener(parent, sources, page, flat)
            flattener.strip = skill.directory
            flattener.frontmatter(skill)
            flattener.body(skill, least=1)
            beside = files_beside(parent) if number == 0 else []
            for path in [*files_of(parent, skill), *beside]:
                if number == 0 and path in beside and resource_class(path, parent.files[path]) == "data":
                    flat.sidecars[path] = path
                else:
                    flattener.embed(path)
        return finished(self.variant, self.parent, flat, sources)
