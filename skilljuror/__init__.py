"""skilljuror: how the organisation of an Agent Skill changes what agents do."""

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from skilljuror.report.notebook import StudyReader

from skilljuror.base import __version__

__all__ = ["__version__", "open_study"]


def open_study(path: str | Path, *, partial: bool = False) -> "StudyReader":
    """Open an ingested study, or the folder of its shards (with `partial` also if some are missing), for notebooks;
    heavy modules are imported here."""
    from skilljuror.report.notebook import open_study as opened

    return opened(path, partial=partial)
