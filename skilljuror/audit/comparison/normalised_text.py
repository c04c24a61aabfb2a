"""Normalise texts of two bundles for comparison: remove what changes when a file moves."""

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from posixpath import basename, normpath

from skilljuror.base.skill import Bundle, Unit
from skilljuror.skill.critical_tokens import critical_tokens, straight_quotes
from skilljuror.skill.generated import MARKER, marker_path

_SKILL_FOLDER = re.compile(
    r"(?:~|\$HOME|/root|/home/[\w.-]+|/mnt|/app|/workspace)?/(?:\.[\w-]+/)?skills/(?:public/|user/)?"
)
_REFERENCES = re.compile(r"(?<![\w.-])(?:\./)?references/(?=[\w.-])")
_PATH = re.compile(
    r"(?<![\w/~-])(?:\.{0,2}/){0,64}+(?:[\w@+.-]{1,255}+/){0,64}[\w@+-][\w@+.-]{0,255}\.[A-Za-z]\w{0,9}\b"
)
"""A possible path; its bounds keep the search linear."""
_DEFINED = re.compile(
    r"^(\[[^\[\]]{1,300}\]:)\s*(?!<?(?:[A-Za-z][A-Za-z0-9+.-]*:|//))(?:<[^<>\n]+>|[^\s<>]+)"
)
_ROOT = re.compile(r"(?i)([^/]+)/skill\.md$")
_UPWARD = re.compile(r"^(?:\.{0,2}/)+|^\.{1,2}$")
_COLLISION = re.compile(r"-\d+(?=\.\w+$)")


class TextNormaliser:
    """Normalise the texts of the units of a parent and a variant.

    A path to a file of either side becomes the file's name, without the number that avoids a collision, since
    folders and new names change. Other paths lose stale absolute skill folders, the skill's own folder and
    `references/`; the rest stays, so that a changed mention is found. Quotes outside of code are straight.
    """

    def __init__(
        self, pair: tuple[Bundle, Bundle], units: tuple[Sequence[Unit], Sequence[Unit]]
    ) -> None:
        names = {skill.directory for bundle in pair for skill in bundle.skills}
        folders = "|".join(re.escape(name) for name in sorted(names, key=lambda n: (-len(n), n)))
        self._folders = re.compile(rf"(?<![\w./-])(?:{folders})/(?=[\w.-])") if folders else None
        paths = [set(all_paths(bundle, side)) for bundle, side in zip(pair, units, strict=True)]
        self._parent_names = {moved_name(path) for path in paths[0]}
        self._suffixes = {end for path in paths[0] | paths[1] for end in path_suffixes(path)}
        roots = [skill.path for bundle in pair for skill in bundle.skills]
        self._root_suffixes = {end for path in roots for end in path_suffixes(path)}
        self._texts: dict[str, str] = {}

    def text(self, unit: Unit) -> str:
        text = unit.text if unit.kind == "code" else straight_quotes(unit.text)
        if "/" not in text and ".md" not in text and not text.startswith("["):
            return text
        if text not in self._texts:
            self._texts[text] = self._without_folders(text)
        return self._texts[text]

    def critical_tokens(self, unit: Unit) -> tuple[str, ...]:
        """Return the critical tokens of the normalised text."""
        text = self.text(unit)
        return unit.criticals if text == unit.text else critical_tokens(text)

    def _without_folders(self, text: str) -> str:
        text = _DEFINED.sub(r"\1", text) if text.startswith("[") else text
        text = _SKILL_FOLDER.sub("", text) if "skills/" in text else text
        text = self._with_bare_names(text)
        text = _REFERENCES.sub("", text) if "references/" in text else text
        return self._folders.sub("", text) if self._folders and "/" in text else text

    def _with_bare_names(self, text: str) -> str:
        parts, place = [], 0
        for start, end, path in _paths_in(text):
            if path in self._suffixes:
                parts += [text[place:start], self._bare_name(path)]
                place = end
        return "".join([*parts, text[place:]]) if parts else text

    def _bare_name(self, path: str) -> str:
        name = basename(path) if path in self._root_suffixes else moved_name(path)
        before = without_number(name)
        return name if name in self._parent_names or before not in self._parent_names else before


@lru_cache(maxsize=1 << 15)
def _paths_in(text: str) -> tuple[tuple[int, int, str], ...]:
    """(start, end, path) of possible paths, cached because a text is in several pairs."""
    return tuple(
        (match.start(), match.end(), without_upward_steps(match[0]))
        for match in _PATH.finditer(text)
    )


def without_upward_steps(path: str) -> str:
    """Return a normalised path without "./", "../" and "/" in front; the dot of a hidden folder stays."""
    return _UPWARD.sub("", normpath(path))


def without_number(path: str) -> str:
    """Return a path without the number that avoids a collision."""
    return _COLLISION.sub("", path)


def moved_name(path: str) -> str:
    """Return the name of a file elsewhere; the root of an inner skill becomes a page."""
    inner = _ROOT.search(path)
    return f"{inner[1]}.md" if inner else basename(path)


def all_paths(bundle: Bundle, units: Iterable[Unit]) -> Iterable[str]:
    """Yield the paths of a bundle, on disk or in a marker."""
    yield from bundle.files
    for unit in units:
        if unit.generated == MARKER:
            path = marker_path(unit.text)
            if path:
                yield path


def path_suffixes(path: str) -> Iterator[str]:
    """Yield the path and its ends, folder by folder."""
    while path:
        yield path
        path = path.partition("/")[2]


def folders_above(path: str) -> Iterator[str]:
    """Yield every folder that holds a path, innermost first."""
    while path := path.rpartition("/")[0]:
        yield path
