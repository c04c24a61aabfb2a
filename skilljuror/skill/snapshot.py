"""The files of one commit of a repository, and its Skills, read from git objects alone.

A Skill is a folder with a SKILL.md; one inside another is part of it, except below a Skill at the top. Links are followed inside the commit.
"""

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator
from posixpath import dirname, join, normpath
from typing import NamedTuple
from urllib.parse import unquote

from skilljuror.base.skill import Blob, class_of, is_root_name
from skilljuror.skill.markdown import frontmatter_end, parse_frontmatter, plain_field
from skilljuror.skill.revision import Repository

LINK, SUBMODULE, PROGRAM = "120000", "160000", "100755"
"""Modes of git's entries."""
MAX_LINKS = 5  # links that lead to links
_OUTSIDE = re.compile(r"(?:\$\{?CLAUDE_PLUGIN_ROOT\}?/|\.\./)[^\s()<>\[\]{}\"'`|,;#?]+")
_PLUGIN = "CLAUDE_PLUGIN_ROOT"
_LETTER = re.compile(r"[^\W\d_]")


class Entry(NamedTuple):
    mode: str
    digest: str


class Blobs:
    """Contents of git objects, each read once."""

    def __init__(self, repository: Repository) -> None:
        self._repository = repository
        self._known: dict[str, Blob] = {}

    def read(self, digests: Iterable[str]) -> None:
        new = [one for one in dict.fromkeys(digests) if one not in self._known]
        contents = self._repository.contents(new) if new else ()
        self._known.update(zip(new, map(Blob, contents), strict=True))

    def __getitem__(self, digest: str) -> Blob:
        self.read([digest])
        return self._known[digest]


class Snapshot:
    """The files of one commit, and its Skills. In `known` folders a SKILL.md in another case counts too."""

    def __init__(
        self, repository: Repository, commit: str, blobs: Blobs, known: Collection[str] = ()
    ) -> None:
        self.blobs = blobs
        self._lines: dict[str, frozenset[str]] = {}
        listed = repository.entries(f"{commit}^{{tree}}")
        self.entries = {path: Entry(mode, digest) for mode, _, digest, path in listed}
        links = {path: one.digest for path, one in self.entries.items() if one.mode == LINK}
        blobs.read(links.values())
        self.targets = {path: blobs[digest].text or "/" for path, digest in links.items()}
        self._folders = {folder for path in self.entries for folder in folders_above(path)}
        self.roots = self._find_roots(known)
        self.members: dict[str | None, list[str]] = defaultdict(list)
        for path in self.entries:
            self.members[self.skill_of(path)].append(path)

    def _find_roots(self, known: Collection[str]) -> dict[str, str]:
        """Folder of a Skill -> path of its SKILL.md."""
        roots: dict[str, str] = {}
        for path in sorted(self.entries, key=lambda one: not one.endswith("SKILL.md")):
            folder, _, name = path.rpartition("/")
            named = name == "SKILL.md" or (is_root_name(path) and folder in known)
            if named and self.resolved(path) in self.entries:
                roots.setdefault(folder, path)
        return {
            folder: roots[folder]
            for folder in sorted(roots)
            if not any(above in roots for above in folders_above(folder) if above)
        }

    def skill_of(self, path: str) -> str | None:
        """The folder of the Skill that a file belongs to."""
        return next((folder for folder in folders_above(path) if folder in self.roots), None)

    def resolved(self, path: str) -> str | None:
        """The file or folder that a path leads to; None if that is outside or missing."""
        for _ in range(MAX_LINKS):
            if path not in self.targets:
                return path if path in self.entries or path in self._folders else None
            path = normpath(join(dirname(path), self.targets[path]))
        return None

    def files(self, paths: Iterable[str]) -> dict[str, Entry]:
        """Path -> entry of files, with those behind links in their place, and of the files of folders."""
        found: dict[str, Entry] = {}
        for path in paths:
            place = self.resolved(path)
            if place in self.entries:
                found[path] = self.entries[place]
            elif place and not path.startswith(f"{place}/"):
                below = (one for one in self.entries if one.startswith(f"{place}/"))
                found |= {path + one[len(place) :]: self.entries[one] for one in below}
        return {path: one for path, one in found.items() if one.mode not in (LINK, SUBMODULE)}

    def listed(self, folder: str) -> dict[str, Entry]:
        """The entries of a Skill, by their path inside its folder; links and submodules too."""
        prefix = f"{folder}/"
        return {path.removeprefix(prefix): self.entries[path] for path in self.members[folder]}

    def own(self, folder: str) -> dict[str, Entry]:
        """The files of a Skill, by their path inside its folder."""
        files = self.files(self.members[folder])
        return {path.removeprefix(f"{folder}/"): entry for path, entry in files.items()}

    def texts(self, folder: str) -> Iterator[tuple[str, str]]:
        """(path, text) of the files of a Skill that agents read or run."""
        files = {path: one for path, one in self.own(folder).items() if class_of(path) != "data"}
        self.blobs.read(one.digest for one in files.values())
        for path, one in files.items():
            yield path, self.blobs[one.digest].text or ""

    def lines(self, folder: str) -> frozenset[str]:
        """The lines of a Skill's texts that have a letter, without frontmatter."""
        if folder not in self._lines:
            texts = (text for _, text in self.texts(folder))
            self._lines[folder] = frozenset().union(*map(_lettered, texts))
        return self._lines[folder]

    def root_text(self, folder: str) -> str:
        """The text of the SKILL.md of a Skill; "" if it is no text."""
        return self.blobs[self.entries[self.resolved(self.roots[folder]) or ""].digest].text or ""

    def root_lines(self, folder: str) -> frozenset[str]:
        """The lines of a SKILL.md that have a letter, without frontmatter."""
        return _lettered(self.root_text(folder))

    def name(self, folder: str) -> str | None:
        """The name in the frontmatter of a Skill."""
        return plain_field(parse_frontmatter(self.root_text(folder).split("\n"))[0], "name")

    def body(self, folder: str) -> str:
        """The text of a SKILL.md below its frontmatter."""
        lines = self.root_text(folder).split("\n")
        return "\n".join(lines[frontmatter_end(lines) :]).strip()

    def named(self, folder: str) -> set[str]:
        """Paths outside a Skill's folder that its texts name, from their own folder, the Skill's or the plugin's."""
        plugin = next(
            (one for one in folders_above(f"{folder}/x") if join(one, ".claude-plugin/plugin.json") in self.entries), folder
        )  # fmt: skip
        found = set()
        for path, text in self.texts(folder):
            for match in _OUTSIDE.finditer(text):
                name = unquote(match[0].rstrip(".:*_…"))
                bases = [dirname(join(folder, path)), folder]
                if _PLUGIN in name:
                    name, bases = name.partition("/")[2], [plugin]
                found |= {normpath(join(base, name)) for base in bases}
        return {
            path for path in found
            if path.split("/")[0] != ".." and not f"{folder}/".startswith(f"{path}/")
        }  # fmt: skip


def _lettered(text: str) -> frozenset[str]:
    lines = text.split("\n")
    body = lines[frontmatter_end(lines) :]
    return frozenset(line.strip() for line in body if _LETTER.search(line))


def folders_above(path: str) -> Iterator[str]:
    """The folders above a path, the nearest first, with "" for the top."""
    while path:
        path = path.rpartition("/")[0]
        yield path
