"""Door in 1: read and check a Skill bundle. Every bundle is treated as hostile."""

from skilljuror.bundles.reader import load_bundle
from skilljuror.bundles.writer import write_bundle

__all__ = ["load_bundle", "write_bundle"]
