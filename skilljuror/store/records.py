"""Options and counts of an ingest, and records as JSON: what a reader or writer needs without reading a log."""

import json
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
from msgspec import Struct

from skilljuror.base.files import StudyFolder
from skilljuror.base.results import Price


class MeasureOptions(Struct, frozen=True):
    """Optional measures and columns."""

    count_tokens: bool = False
    """Count the tokens of every step exactly; otherwise their share is null."""
    metrics: tuple[str, ...] = ()
    """Metrics of other packages, `module:attribute`."""
    quotes: bool = True
    """Store previews of steps and quotes of evidence."""
    prices: tuple[Price, ...] | None = None
    """Model prices; None for the packaged list."""
    projects: bool = False
    """Store names of projects and persons; never without quotes."""


NOTHING_FURTHER = MeasureOptions()


def keeps_quotes(study: Path) -> bool:
    """Whether a study, and each of its shards, may store and show texts of its logs."""
    return not any(
        StudyFolder(one).no_quotes.exists() for one in (study, *StudyFolder(study).shards)
    )


class FileChanges(NamedTuple):
    """File counts by change."""

    new: int = 0
    """Files not seen before."""
    changed: int = 0
    unchanged: int = 0
    gone: int = 0
    """Known files that are missing."""


class IngestSummary(Struct, frozen=True):
    """Counts of an ingest."""

    trials: int
    """Trials of the study; 0 in observed mode."""
    parsed: int
    duplicates: int
    """Files whose run another file provides."""
    skipped: int
    """Unsupported files."""
    errors: int
    """Files with a format, or named by the user, that cannot be read."""
    trajectories: int
    """Runs counted."""
    unlogged: int
    """Foreign trials without a run, stored with their result."""
    steps: int
    """Agent steps, sub-agents included."""
    skills: int
    """Distinct Skills with a resource event."""
    events: int
    unread: tuple[tuple[str, int], ...]
    """(reason, files) for all files not read, most frequent first."""
    failures: tuple[tuple[str, str], ...]
    """(file, reason) of every error."""
    remade: bool
    """Whether a database of another version was regenerated, without the judges' verdicts."""
    new: int = 0
    """Files not seen before."""
    changed: int = 0
    """Files changed since the last ingest."""
    unchanged: int = 0
    """Unchanged files, which are not read again."""
    gone: int = 0
    """Missing files; their runs are kept unless pruned."""
    unknown_tools: tuple[tuple[str, int, int], ...] = ()
    """(tool that skilljuror does not know, its calls, runs in which it may have opened a Skill)."""
    kept: int = 0
    """Runs kept although their files became shorter or are partly missing."""


_TOO_WIDE = 1 << 63


@cache
def _encoder() -> msgspec.json.Encoder:
    return msgspec.json.Encoder(enc_hook=_plain, order="deterministic")


def _plain(record: Any) -> Any:
    return record.model_dump()


def as_json(record: Any) -> str:
    """Return a record as JSON; text stays. Invalid UTF-8 is replaced, an integer beyond the widest column becomes null."""
    if isinstance(record, str):
        return record
    try:
        return _encoder().encode(record).decode()
    except (UnicodeEncodeError, OverflowError):
        return json.dumps(_without_misfits(msgspec.to_builtins(record, enc_hook=_plain)))


def _without_misfits(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, int):
        return value if abs(value) <= _TOO_WIDE else None
    if isinstance(value, dict):
        return {_without_misfits(key): _without_misfits(item) for key, item in value.items()}
    if isinstance(value, tuple | list):
        return [_without_misfits(item) for item in value]
    return value
