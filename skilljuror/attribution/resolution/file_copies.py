"""Copies of and links to bundled files: a path outside a bundle that shows what lies inside."""

from collections.abc import Iterator

from msgspec import Struct, field
from msgspec.structs import replace

from skilljuror.attribution.accesses.file_access import Access
from skilljuror.attribution.accesses.line_selection import WHOLE_FILE, LineSelection
from skilljuror.attribution.paths import folder_of, is_glob, name_of, normalised
from skilljuror.attribution.resolution.skill_catalog import (
    BUNDLE_FOLDERS,
    ResourceLocation,
    SkillCatalog,
)
from skilljuror.models.resource_class import is_root

_SHARED = frozenset({"/", "/tmp", "~", "/root", "/app", "/work", "/workspace", "/home", ""})
"""Folders that were there before anything was copied into them."""


class FileCopies(Struct):
    """What a run has copied or linked so far."""

    catalog: SkillCatalog
    made: dict[str, str] = field(default_factory=dict)
    """Path of a copy or link -> the path that it was made from."""
    links: set[str] = field(default_factory=set)
    """Those that are links: what lies behind them is the original itself."""

    parts: dict[str, LineSelection] = field(default_factory=dict)
    """Copies of some lines only -> these lines."""

    def add(
        self,
        copy: str,
        original: str,
        cwd: str | None,
        *,
        link: bool = False,
        selection: LineSelection = WHOLE_FILE,
    ) -> None:
        """Remember a copy of a bundled file or folder, of some of its lines, or of another copy."""
        original = self.original(original) or original
        if is_glob(original) or self.catalog.locate(original) is None:
            return
        copy = normalised(copy)
        self.made[_inside(copy, original)] = original
        if not _was_there(copy, cwd):
            self.made[copy] = original
        self.parts.pop(copy, None)
        if not selection.whole:
            self.parts[copy] = selection
        if link:
            self.links.update({copy, _inside(copy, original)} & self.made.keys())

    def through(self, access: Access) -> Access:
        """A read of a copy of some lines asks for no more than these."""
        selection = self.parts.get(access.path) if access.kind == "read" else None
        if selection is None or access.selection == selection:
            return access
        return replace(
            access, selection=selection if access.selection.whole else selection.filtered()
        )

    def linked(self, path: str) -> ResourceLocation | None:
        """The resource behind a link, whatever is done with it."""
        at = path
        while at and at not in self.links:
            at = folder_of(at) if at != "/" else ""
        return self.locate(path) if at else None

    def names(self) -> Iterator[str]:
        """Last parts of the paths of copies."""
        for path in self.made:
            yield name_of(path)

    def original(self, path: str) -> str | None:
        """The path that a copy stands for."""
        rest, at = "", path
        while at:
            if at in self.made:
                return normalised(f"{self.made[at]}/{rest}") if rest else self.made[at]
            rest = f"{name_of(at)}/{rest}" if rest else name_of(at)
            at = folder_of(at) if at != "/" else ""
        return None

    def locate(self, path: str) -> ResourceLocation | None:
        """The resource that a copy stands for; a copied folder may hold other files too, so only
        what a skill is known to have, or usually has, counts."""
        if not self.made or (original := self.original(path)) is None:
            return None
        location = self.catalog.locate(original)
        if location is None or path in self.made or location.folder:
            return location
        resource = location.resource
        usual = is_root(resource) or resource.partition("/")[0] in BUNDLE_FOLDERS
        known = self.catalog.has(location.skill, resource)
        return location if known or (usual and not self.catalog.known) else None


def _inside(folder: str, original: str) -> str:
    """Where a copy lies if the target is a folder; the current one may have no name."""
    return normalised(f"{folder}/{name_of(original)}") if folder else name_of(original)


def _was_there(folder: str, cwd: str | None) -> bool:
    """Whether the target of a copy is surely a folder that holds other things."""
    if folder in _SHARED or folder == cwd:
        return True
    return bool(cwd) and f"{cwd}/".startswith(f"{folder}/")
