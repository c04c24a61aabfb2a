"""baseline: one skill in one flat SKILL.md with the whole source."""

from pathlib import PurePosixPath
from typing import Any, ClassVar

from skilljuror.audit.plans.render import BundleTexts
from skilljuror.base.skill import Bundle, Omitted, Plan, Skill, resource_class
from skilljuror.layouts.editing.page_builder import PageBuilder
from skilljuror.layouts.flattening import (
    Flattener,
    PlanParts,
    description_of,
    files_beside,
    files_of_skill,
    finish_plan,
    joined_descriptions,
    require_skills,
    union_name,
    yaml_quoted,
)
from skilljuror.skill.generated import fence_around, is_marker_heading
from skilljuror.skill.markdown import frontmatter_end


class Baseline:
    """The union of the source's skills in one root; files below markers, data next to it."""

    variant: ClassVar[str] = "baseline"
    parent: ClassVar[str] = "source"

    def plan(self, parent: Bundle, params: dict[str, Any]) -> Plan:
        """Return the plan; one skill keeps its frontmatter, several get a generated one."""
        require_skills(parent)
        parts, parent_texts = PlanParts(), BundleTexts(parent.files)
        beside = files_beside(parent)
        alone = len(parent.skills) == 1 and not any(_has_text(parent, path) for path in beside)
        if alone:
            folder, paths_below = parent.skills[0].directory, parent.skills[0].directory
        else:
            folder, paths_below = union_name(parent), ""
        page = PageBuilder(f"{PurePosixPath(folder).name}/SKILL.md", parent_texts)
        flattener = Flattener(parent, parent_texts, page, parts, paths_below)
        if alone:
            flattener.flatten(parent.skills[0])
        else:
            _union(flattener)
        _files_beside(flattener, beside)
        return finish_plan(self.variant, self.parent, parts, parent_texts)


def _has_text(bundle: Bundle, path: str) -> bool:
    blob = bundle.files[path]
    return resource_class(path, blob) != "data" and bool(blob.data.strip())


def _union(flattener: Flattener) -> None:
    bundle, texts = flattener.bundle, flattener.parent_texts
    descriptions = [description_of(skill, texts.text(skill.path).lines) for skill in bundle.skills]
    description = yaml_quoted(joined_descriptions(descriptions))
    flattener.generated_frontmatter(union_name(bundle), description)
    for skill in bundle.skills:
        _section(flattener, skill)


def _section(flattener: Flattener, skill: Skill) -> None:
    page, files = flattener.page, files_of_skill(flattener.bundle, skill)
    page.generate("blank")
    flattener.parts.sections[skill.path] = (page.path, len(page.lines))
    page.generate("skill-title", title=_title(skill))
    _configuration(flattener, skill)
    if any(flattener.bundle.files[path].data.strip() for path in files):
        page.gap()
        page.generate("directory", path=skill.directory)
    page.gap()
    flattener.body(skill, least=2)
    for path in files:
        flattener.embed(path)


def _title(skill: Skill) -> str:
    """The skill's name, or its folder's if the name is no valid heading."""
    name = skill.name.strip()
    unfit = not name or is_marker_heading(name) or name.endswith("#")
    return skill.directory if unfit else name


def _configuration(flattener: Flattener, skill: Skill) -> None:
    page = flattener.page
    lines = flattener.parent_texts.text(skill.path).lines
    end = frontmatter_end(lines)
    page.gap()
    if not end:
        return
    fence = fence_around(lines[1 : end - 1])
    page.generate("configuration", path=skill.directory)
    page.generate("blank")
    page.generate("fence-open", fence=fence, info="yaml")
    page.copy(skill.path, 2, end - 1)
    page.generate("fence-close", fence=fence)
    delimiters = (1, end)
    flattener.parts.omitted += [Omitted(skill.path, line, lines[line - 1]) for line in delimiters]


def _files_beside(flattener: Flattener, beside: list[str]) -> None:
    if any(_has_text(flattener.bundle, path) for path in {*beside} - flattener.on_disk):
        flattener.page.gap()
        flattener.page.generate("shared")
    for path in beside:
        flattener.embed(path)
