"""One flat SKILL.md out of skills and their files: what origin-flat and baseline share."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from skilljuror.errors import TransformError
from skilljuror.models.resource_class import is_markdown, is_root_name, resource_class
from skilljuror.knowledge.markdown.frontmatter import frontmatter_end
from skilljuror.knowledge.markdown.headings import can_shift
from skilljuror.knowledge.markdown.block_index import MarkdownIndex, closing_line
from skilljuror.knowledge.generated.embedded_files import fence_around, info_string, is_marker_heading, marker_phrase
from skilljuror.knowledge.plans.render import BundleTexts
from skilljuror.models.bundle import Bundle, Skill
from skilljuror.models.plan import Omitted, Plan
from skilljuror.transforms.flattening.link_targets import Places, linked
from skilljuror.transforms.flattening.descriptions import description_of, quoted, skill_slug
from skilljuror.transforms.editing.link_references import Labels
from skilljuror.transforms.editing.page_builder import Page

MARKER_LEVEL = 2


@dataclass(slots=True)
class Flat:
    """The parts of a plan that flattening gathers."""

    pages: list[Page] = field(default_factory=list)
    shown: dict[str, tuple[str, int]] = field(default_factory=dict)
    sidecars: dict[str, str] = field(default_factory=dict)
    dropped: dict[str, str] = field(default_factory=dict)
    flags: dict[str, tuple[str, ...]] = field(default_factory=dict)
    omitted: list[Omitted] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


class Flattener:
    """Writes skills and files onto one page."""

    def __init__(self, bundle: Bundle, sources: BundleTexts, page: Page, flat: Flat) -> None:
        self.bundle = bundle
        self.sources = sources
        self.page = page
        self.flat = flat
        flat.pages.append(page)
        self.labels = Labels()
        self.base = str(PurePosixPath(page.path).parent)
        self.strip = ""
        """Folder that is cut from the paths shown in markers."""
        self.shown = flat.shown
        """Source file -> this page, and the 0-based line of the heading of its section."""
        self.tagged = looks_forged(bundle, sources)

    def frontmatter(self, skill: Skill) -> None:
        """The skill's frontmatter verbatim, or a made one where it has none."""
        lines = self.sources.text(skill.path).lines
        end = frontmatter_end(lines)
        if end:
            self.page.copy(skill.path, 1, end)
            return
        told = quoted(description_of(skill, lines))
        self.made_frontmatter(skill_slug(PurePosixPath(skill.directory).name), told)
        self.flat.notes.append(f"{skill.path}: has no frontmatter; one was made from its text")

    def made_frontmatter(self, name: str, description: str) -> None:
        """A made frontmatter; `description` is already quoted."""
        self.page.make("rule")
        self.page.make("field-name", name=name)
        self.page.make("field-description", description=description)
        self.page.make("rule")

    def body(self, skill: Skill, least: int) -> None:
        """The skill's body with no heading above `least`; a body that cannot stand among others
        goes into a fence, whole."""
        text = self.sources.text(skill.path)
        self._note_flags(skill.path)
        start = frontmatter_end(text.lines)
        if start >= len(text.lines):
            self.page.copy(skill.path, start + 1, start)
            return
        body = text.lines[start:]
        close = closing_line(self.sources.markdown(skill.path))
        if close is None or (self.shown_alone(skill) and not self.labels.fits(body)):
            self.fence(skill.path, f"{PurePosixPath(skill.directory)}/SKILL.md", start + 1)
            return
        self.labels.add(body)
        self.shown.setdefault(skill.path, (self.page.path, -1))
        shift = _demotion(self.sources.markdown(skill.path), least)
        self.page.copy(skill.path, start + 1, len(text.lines), shift)
        if close:
            self.page.make("closer", line=close)
            self.flat.notes.append(f"{skill.path}: a block is left open at its end and was closed")

    def shown_alone(self, skill: Skill) -> bool:
        """Whether other text already stands on the page."""
        return not self.labels.empty

    def embed(self, path: str) -> None:
        """One file: under a marker, beside the page as data, or dropped when empty."""
        blob = self.bundle.files[path]
        kind = resource_class(path, blob)
        if not blob.data.strip() and kind != "code":
            self.flat.dropped[path] = "empty"
        elif kind == "data":
            self.flat.sidecars[f"{self.base}/{self.relative(path)}"] = path
        else:
            self._note_flags(path)
            self._embed_text(path, code=kind == "code")

    def relative(self, path: str) -> str:
        """The path as it is shown to a reader of the page."""
        return path.removeprefix(f"{self.strip}/") if self.strip else path

    def _embed_text(self, path: str, *, code: bool) -> None:
        shown = self.relative(path)
        lines = self.sources.text(path).lines
        if is_markdown(path) and not self.tagged:
            markdown = self.sources.markdown(path)
            levels = _levels_as_prose(markdown)
            if levels is not None and self.labels.fits(lines):
                self.labels.add(lines)
                self._marker(path, marker_phrase(path, code), shown)
                self.page.copy(path, 1, len(lines), levels)
                return
        self.fence(path, shown, 1, code=code)

    def fence(self, path: str, shown: str, start: int, *, code: bool = False) -> None:
        """A file under a marker, in one fence."""
        text = self.sources.text(path)
        lines = text.lines[start - 1 :]
        executable = self.bundle.files[path].executable and code
        self._marker(path, marker_phrase(path, code), shown)
        fence = fence_around(lines)
        self.page.make("fence-open", fence=fence, info=info_string(path, text, executable, self.tagged))
        self.page.copy(path, start, len(text.lines))
        self.page.make("fence-close", fence=fence)

    def _marker(self, path: str, kind: str, shown: str) -> None:
        self.page.gap()
        self.shown[path] = (self.page.path, len(self.page.lines))
        self.page.make("marker", hashes="#" * MARKER_LEVEL, kind=kind, path=shown)
        self.page.make("blank")

    def _note_flags(self, path: str) -> None:
        flags = self.sources.text(path).flags
        if flags:
            self.flat.flags[path] = flags


def files_of(bundle: Bundle, skill: Skill) -> list[str]:
    """The files of a skill without its root, in the order its body first names them."""
    body = bundle.files[skill.path].text or ""
    prefix = f"{skill.directory}/"
    mine = [path for path in bundle.files if path.startswith(prefix) and path != skill.path]

    def first_mention(path: str) -> tuple[int, bytes]:
        place = body.find(PurePosixPath(path).name)
        return (place if place >= 0 else len(body), path.encode())

    return sorted(mine, key=first_mention)


def files_beside(bundle: Bundle) -> list[str]:
    """The files that lie in no skill."""
    prefixes = tuple(f"{skill.directory}/" for skill in bundle.skills)
    return [path for path in bundle.files if not path.startswith(prefixes)]


def looks_forged(bundle: Bundle, sources: BundleTexts) -> bool:
    """Whether any Markdown of the source has a heading in the form of a marker."""
    return any(
        is_marker_heading(heading.title)
        for path in bundle.files
        if (is_markdown(path) or is_root_name(path)) and bundle.files[path].text is not None
        for heading in sources.markdown(path).headings
    )


def _demotion(markdown: MarkdownIndex, least: int) -> int:
    """Levels to add so that no heading stands above `least`; 0 when that cannot be done."""
    top = min((heading.level for heading in markdown.headings), default=least)
    levels = max(0, least - top)
    return levels if can_shift(markdown.headings, levels) else 0


def _levels_as_prose(markdown: MarkdownIndex) -> int | None:
    """Levels to add so that a file may stand as prose below its marker; None when it may not."""
    kinds = [block.kind for block in markdown.blocks]
    if markdown.frontmatter_lines or kinds == ["fence"] or closing_line(markdown) != "":
        return None
    top = min((heading.level for heading in markdown.headings), default=MARKER_LEVEL + 1)
    levels = max(0, MARKER_LEVEL + 1 - top)
    return levels if can_shift(markdown.headings, levels) else None


def omit(flat: Flat, sources: BundleTexts, path: str, numbers: Iterable[int]) -> None:
    """Record lines (1-based) that the variant does not carry."""
    lines: Sequence[str] = sources.text(path).lines
    flat.omitted += [Omitted(path, number, lines[number - 1]) for number in numbers]


def finished(variant: str, parent: str, flat: Flat, sources: BundleTexts) -> Plan:
    """The plan from its gathered parts, links set right."""
    places = Places(flat.pages, flat.shown, flat.sidecars)
    return Plan(
        variant,
        parent,
        tuple(linked(flat.pages, places, sources)),
        sidecars=dict(sorted(flat.sidecars.items())),
        dropped=dict(sorted(flat.dropped.items())),
        flags=dict(sorted(flat.flags.items())),
        omitted=tuple(flat.omitted),
        notes=tuple(flat.notes),
    )


def require_skills(parent: Bundle) -> None:
    """Raises TransformError for a bundle without any skill."""
    if not parent.skills:
        raise TransformError(
            f"bundle {parent.name!r} has no SKILL.md in any folder; point at a skill's folder, or "
            "at a folder of skills"
        )
