"""skilljuror: how the organisation of an Agent Skill changes what agents do."""

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from skilljuror.study import StudyReader

__version__ = "0.1.0"
__all__ = ["__version__", "open_study"]


def open_study(path: str | Path) -> "StudyReader":
    """Open an ingested study for notebooks; heavy modules are imported here."""
    from skilljuror.study import open_study as opened

    return opened(path)
