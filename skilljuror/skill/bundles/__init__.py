"""Door in 1: read and check a Skill bundle. Every bundle is treated as hostile."""

from skilljuror.skill.bundles.folder import write_bundle
from skilljuror.skill.bundles.reader import load_bundle

__all__ = ["load_bundle", "write_bundle"]
