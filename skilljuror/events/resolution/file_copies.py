"""Copies of and links to bundled files.

`cp -r SKILL/scripts . && python3 scripts/total.py` runs the Skill's script although the second path
does not name the bundle.
"""

from msgspec import Struct, field

from skilljuror.base.skill import is_root
from skilljuror.events.paths import folder_of, is_glob, name_of, normalised
from skilljuror.events.resolution.skill_catalog import (
    BUNDLE_FOLDERS,
    ResourceLocation,
    SkillCatalog,
)

_SHARED_FOLDERS = frozenset(
    {"/", "/tmp", "~", "/root", "/app", "/work", "/workspace", "/home", ""}
)  # fmt: skip
"""Folders that exist before anything is copied into them."""


class FileCopies(Struct):
    """Copies and links made so far."""

    catalog: SkillCatalog
    originals: dict[str, str] = field(default_factory=dict)
    """Path of a copy -> its original in a bundle."""

    def add(self, copy: str, original: str, cwd: str | None) -> None:
        """Record a copy of a bundled file or folder, or of another copy."""
        original = self._original(original) or original
        if is_glob(original) or self.catalog.locate(original) is None:
            return
        copy = normalised(copy)
        self.originals[normalised(f"{copy}/{name_of(original)}") if copy else name_of(original)] = (
            original
        )
        existed = copy in _SHARED_FOLDERS or (cwd and f"{cwd}/".startswith(f"{copy}/"))
        if not existed:
            self.originals[copy] = original

    def locate(self, path: str) -> ResourceLocation | None:
        """Resource that a path shows, or None.

        A copied folder may contain other files: below it only the Skill's known or usual paths
        count.
        """
        original = self._original(path) if self.originals else None
        location = self.catalog.locate(original) if original is not None else None
        if location is None or path in self.originals or location.folder:
            return location
        resource = location.resource
        usual = is_root(resource) or resource.partition("/")[0] in BUNDLE_FOLDERS
        known = self.catalog.has(location.skill, resource)
        return location if known or (usual and not self.catalog.known) else None

    def _original(self, path: str) -> str | None:
        """Original of a copy, or of a file in a copied folder."""
        below, at = "", path
        while at:
            if at in self.originals:
                return normalised(f"{self.originals[at]}/{below}") if below else self.originals[at]
            below = f"{name_of(at)}/{below}" if below else name_of(at)
            at = folder_of(at) if at != "/" else ""
        return None
