"""baseline: one skill, one flat SKILL.md that holds everything the source says."""

from pathlib import PurePosixPath
from typing import Any, ClassVar

from skilljuror.knowledge.markdown.frontmatter import frontmatter_end
from skilljuror.knowledge.generated.embedded_files import fence_around, is_marker_heading
from skilljuror.knowledge.plans.render import BundleTexts
from skilljuror.models.bundle import Bundle, Skill
from skilljuror.models.plan import Plan
from skilljuror.models.resource_class import resource_class
from skilljuror.transforms.flattening.descriptions import description_of, quoted, skill_slug, union
from skilljuror.transforms.flattening.flattener import (
    Flat,
    Flattener,
    files_beside,
    files_of,
    finished,
    omit,
    require_skills,
)
from skilljuror.transforms.editing.page_builder import Page


class Baseline:
    """The union of the source's skills in one root; files under markers, data beside it."""

    variant: ClassVar[str] = "baseline"
    parent: ClassVar[str] = "source"

    def plan(self, parent: Bundle, params: dict[str, Any]) -> Plan:
        """The plan; one skill keeps its frontmatter, several get a made one."""
        require_skills(parent)
        flat, sources = Flat(), BundleTexts(parent.files)
        beside = files_beside(parent)
        alone = len(parent.skills) == 1 and all(
            resource_class(path, parent.files[path]) == "data" or not parent.files[path].data.strip()
            for path in beside
        )
        if alone:
            folder = PurePosixPath(parent.skills[0].directory).name
        else:
            folder = skill_slug(parent.name)
        page = Page(f"{folder}/SKILL.md", sources)
        flattener = Flattener(parent, sources, page, flat)
        if alone:
            _single(flattener, parent.skills[0])
        else:
            _several(flattener)
        _beside(flattener, beside)
        return finished(self.variant, self.parent, flat, sources)


def _single(flattener: Flattener, skill: Skill) -> None:
    flattener.strip = skill.directory
    flattener.frontmatter(skill)
    flattener.body(skill, least=1)
    for path in files_of(flattener.bundle, skill):
        flattener.embed(path)


def _several(flattener: Flattener) -> None:
    bundle = flattener.bundle
    told = [description_of(one, flattener.sources.text(one.path).lines) for one in bundle.skills]
    flattener.made_frontmatter(skill_slug(bundle.name), quoted(union(told)))
    for skill in bundle.skills:
        _section(flattener, skill)


def _section(flattener: Flattener, skill: Skill) -> None:
    """One skill as a section of its own: title, frontmatter in a fence, body, files."""
    page, files = flattener.page, files_of(flattener.bundle, skill)
    page.make("blank")
    flattener.shown[skill.path] = (page.path, len(page.lines))
    page.make("skill-title", title=_title(skill))
    _configuration(flattener, skill)
    if any(flattener.bundle.files[path].data.strip() for path in files):
        page.gap()
        page.make("directory", path=skill.directory)
    page.gap()
    flattener.body(skill, least=2)
    for path in files:
        flattener.embed(path)


def _title(skill: Skill) -> str:
    name = skill.name.strip()
    odd = not name or is_marker_heading(name) or name.endswith("#")
    return skill.directory if odd else name


def _configuration(flattener: Flattener, skill: Skill) -> None:
    page = flattener.page
    lines = flattener.sources.text(skill.path).lines
    end = frontmatter_end(lines)
    page.gap()
    if not end:
        return
    fence = fence_around(lines[1 : end - 1])
    page.make("configuration", path=skill.directory)
    page.make("blank")
    page.make("fence-open", fence=fence, info="yaml")
    page.copy(skill.path, 2, end - 1)
    page.make("fence-close", fence=fence)
    omit(flattener.flat, flattener.sources, skill.path, (1, end))


def _beside(flattener: Flattener, beside: list[str]) -> None:
    """Files that lie in no skill."""
    bundle = flattener.bundle
    said = [
        path
        for path in beside
        if resource_class(path, bundle.files[path]) != "data" and bundle.files[path].data.strip()
    ]
    if said:
        flattener.page.gap()
        flattener.page.make("shared")
    for path in beside:
        flattener.embed(path)
