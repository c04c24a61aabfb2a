"""How moved files are named in text: mentions and stale absolute paths."""

import re
from collections.abc import Mapping
from pathlib import PurePosixPath

from skilljuror.knowledge.markdown.frontmatter import parse_frontmatter, plain_field
from skilljuror.transforms.disclosure.file_layout import FileLayout
from skilljuror.transforms.editing.links import link_spans

_ABSOLUTE = re.compile(
    r"(?:/root|~|\$HOME|/home/\w{1,40}|/app|/workspace|/mnt)/(?:\.[\w-]{1,30}/)?skills/"
    r"(?:public/|user/)?([\w-]{1,64})(/[\w./-]{0,200})?"
)

Renaming = tuple[re.Pattern[str], Mapping[str, str]]
"""What finds the old names, and what each becomes."""


class PathMentions:
    """Names of one layout's files, as text should say them: relative to the skill's folder."""

    def __init__(self, layout: FileLayout) -> None:
        self.layout = layout
        self.skills = {name for _, name in layout.flat.skills}
        fields, _ = parse_frontmatter(layout.flat.lines)
        self.own_names = {PurePosixPath(layout.folder).name, plain_field(fields, "name")}
        """What the one skill of a page is called, in paths that name it."""
        self._renamings = {
            skill: _renaming(names) for skill, names in self._new_names().items() if names
        }

    def renamed(self, text: str, skill: str) -> str:
        """The text, which comes from a source skill, with mentions of moved files set right."""
        for key in dict.fromkeys((skill, "")):
            renaming = self._renamings.get(key)
            if renaming is not None:
                text = _rename_outside_links(text, *renaming)
        return text

    def freshened(self, text: str) -> str:
        """The text with absolute paths of skill folders made relative, where they name a file."""
        return _ABSOLUTE.sub(self._relative, text) if "skills/" in text else text

    def _new_names(self) -> dict[str, dict[str, str]]:
        """Source skill ("" for any) -> name of a moved file in its text -> path from the root."""
        flat, anywhere = self.layout.flat, dict[str, str]()
        new_names: dict[str, dict[str, str]] = {"": anywhere}
        for file in flat.embedded_files:
            path = self.layout.shown(self.layout.variant_paths[file.path])
            if path != file.path:
                anywhere[file.path] = path
                skill = flat.skill_at(file.heading.start)
                new_names.setdefault(skill, {})[flat.inner_path(file)] = path
        return new_names

    def _relative(self, match: re.Match[str]) -> str:
        """An absolute path as a path of this variant, where it names something in it."""
        skill, rest = match[1], (match[2] or "")
        path = rest.rstrip("./")
        tail = rest[len(path) :] if path else ""
        if skill not in (self.skills or self.own_names):
            return match[0]
        inner = "/".join(part for part in (skill if self.skills else "", path.strip("/")) if part)
        placed = self.layout.variant_paths.get(inner)
        if placed:
            return self.layout.shown(placed) + tail
        known = bool(inner) and self.layout.has(f"{self.layout.folder}/{inner}")
        return inner + tail if known else match[0]


def _renaming(names: Mapping[str, str]) -> Renaming:
    longest = sorted(names, key=lambda name: (-len(name), name))
    alternatives = "|".join(re.escape(name) for name in longest)
    return re.compile(rf"(?<![\w./-])(?:{alternatives})(?![\w/-]|\.\w)"), names


def _rename_outside_links(text: str, pattern: re.Pattern[str], names: Mapping[str, str]) -> str:
    parts, place = [], 0
    for start, end in [*link_spans(text), (len(text), len(text))]:
        parts.append(pattern.sub(lambda match: names[match[0]], text[place:start]))
        parts.append(text[start:end])
        place = end
    return "".join(parts)
