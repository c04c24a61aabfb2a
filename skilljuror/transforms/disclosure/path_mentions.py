"""How moved files are named in text: mentions and stale absolute paths."""

import re
from collections.abc import Mapping
from pathlib import PurePosixPath

from skilljuror.knowledge.markdown.frontmatter import parse_frontmatter, plain_field
from skilljuror.transforms.disclosure.file_layout import Layout
from skilljuror.transforms.editing.links import link_spans

_STALE = re.compile(
    r"(?:/root|~|\$HOME|/home/\w{1,40}|/app|/workspace|/mnt)/(?:\.[\w-]{1,30}/)?skills/"
    r"(?:public/|user/)?([\w-]{1,64})(/[\w./-]{0,200})?"
)

Renaming = tuple[re.Pattern[str], Mapping[str, str]]


class Names:
    """Names of one layout's files, as text should say them: relative to the skill's folder."""

    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        self.units = {name for _, name in layout.flat.units}
        fields, _ = parse_frontmatter(layout.flat.lines)
        self.own = {PurePosixPath(layout.folder).name, plain_field(fields, "name")}
        """What the one skill of a page is called, in paths that name it."""
        found = self._by_unit()
        self._renamed = {unit: _pattern(names) for unit, names in found.items() if names}

    def renamed(self, text: str, unit: str) -> str:
        """The text with mentions of moved files set right; `unit` is the source skill it is of."""
        for key in dict.fromkeys((unit, "")):
            known = self._renamed.get(key)
            if known is not None:
                text = _outside_links(text, *known)
        return text

    def freshened(self, text: str) -> str:
        """The text with absolute paths of skill folders made relative, where they name a file."""
        return _STALE.sub(self._fresh, text) if "skills/" in text else text

    def _by_unit(self) -> dict[str, dict[str, str]]:
        """Names under which moved files are mentioned -> how they are named from the root."""
        whole: dict[str, str] = {}
        found: dict[str, dict[str, str]] = {"": whole}
        flat = self.layout.flat
        for file in flat.embedded:
            new = self.layout.placed[file.path].removeprefix(f"{self.layout.folder}/")
            unit = flat.unit_at(file.heading.start)
            if new != file.path:
                whole[file.path] = new
                inner = file.path.removeprefix(f"{unit}/") if unit else file.path
                found.setdefault(unit, {})[inner] = new
        return found

    def _fresh(self, match: re.Match[str]) -> str:
        """A stale absolute path as a path of this variant, where it names something in it."""
        unit, rest = match[1], (match[2] or "")
        kept = rest.rstrip("./")
        tail = rest[len(kept) :] if kept else ""
        if unit not in (self.units or self.own):
            return match[0]
        inner = "/".join(part for part in (unit if self.units else "", kept.strip("/")) if part)
        placed = self.layout.placed.get(inner)
        if placed:
            return placed.removeprefix(f"{self.layout.folder}/") + tail
        known = bool(inner) and self.layout.has(f"{self.layout.folder}/{inner}")
        return inner + tail if known else match[0]


def _pattern(names: Mapping[str, str]) -> Renaming:
    longest = sorted(names, key=lambda name: (-len(name), name))
    told = "|".join(re.escape(name) for name in longest)
    return re.compile(rf"(?<![\w./-])(?:{told})(?![\w/-]|\.\w)"), names


def _outside_links(text: str, pattern: re.Pattern[str], names: Mapping[str, str]) -> str:
    """Replace names outside link targets."""
    parts, place = [], 0
    for start, end in [*link_spans(text), (len(text), len(text))]:
        parts.append(pattern.sub(lambda match: names[match[0]], text[place:start]))
        parts.append(text[start:end])
        place = end
    return "".join(parts)
