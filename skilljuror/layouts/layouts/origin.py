"""origin: the source unchanged; origin-flat: one self-contained SKILL.md for each of its skills."""

from typing import Any, ClassVar

from skilljuror.audit.plans.render import BundleTexts
from skilljuror.base.skill import Bundle, Plan, resource_class
from skilljuror.layouts.editing.page_builder import PageBuilder
from skilljuror.layouts.flattening import (
    Flattener,
    PlanParts,
    files_beside,
    finish_plan,
    require_skills,
)


class Origin:
    """Every file byte for byte at its own path."""

    variant: ClassVar[str] = "origin"
    parent: ClassVar[str] = "source"

    def plan(self, parent: Bundle, params: dict[str, Any]) -> Plan:
        return Plan(self.variant, self.parent, (), sidecars={path: path for path in parent.files})


class OriginFlat:
    """One SKILL.md per skill, with its files inlined; data is next to it."""

    variant: ClassVar[str] = "origin-flat"
    parent: ClassVar[str] = "source"

    def plan(self, parent: Bundle, params: dict[str, Any]) -> Plan:
        """Return the plan; files outside of any skill go to the first one."""
        require_skills(parent)
        parent_texts, parts = BundleTexts(parent.files), PlanParts()
        for number, skill in enumerate(parent.skills):
            page = PageBuilder(f"{skill.directory}/SKILL.md", parent_texts)
            flattener = Flattener(parent, parent_texts, page, parts, skill.directory)
            flattener.flatten(skill)
            for path in files_beside(parent) if number == 0 else []:
                if path in flattener.on_disk or resource_class(path, parent.files[path]) == "data":
                    parts.sidecars[path] = path
                else:
                    flattener.embed(path)
        return finish_plan(self.variant, self.parent, parts, parent_texts)
