"""Paths of a study, and safe writing.

Records and rows are JSON. A write is complete or has no effect, and is on disk when it returns."""

import contextlib
import fcntl
import glob
import hashlib
import json
import logging
import os
import re
import shutil
import stat
import tempfile
from collections.abc import Collection, Iterable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from shlex import quote
from typing import IO, TYPE_CHECKING, Any, TypeVar, cast
from urllib.parse import unquote_to_bytes

import msgspec
import orjson

from skilljuror.base.errors import StudyError, UsageError

if TYPE_CHECKING:
    from skilljuror.base.build import Record

DATA_KINDS = ("transforms", "rubrics", "examples")

_FILE_URI = "file:///"

LOG = logging.getLogger(__name__)
R = TypeVar("R", bound="Record")
Row = TypeVar("Row")


def data_dir(kind: str) -> Path:
    """Return the folder of packaged data: in the installed wheel, else in the checkout."""
    if kind not in DATA_KINDS:
        raise UsageError(f"unknown data folder {kind!r}; choose one of {', '.join(DATA_KINDS)}")
    package = Path(__file__).parents[1]
    for candidate in (package / "_data" / kind, package.parent / kind):
        if candidate.is_dir():
            return candidate
    raise UsageError(f"the data folder {kind!r} is not installed; reinstall skilljuror")


def sha256(data: bytes) -> str:
    """Return the sha256 in hexadecimal."""
    return hashlib.sha256(data).hexdigest()


def path_text(path: Path) -> str:
    """Return a path as text that any file or database can hold: unchanged, or as a `file:` URI (RFC
    8089) if it is not UTF-8. No other path looks like one: it would begin with a single slash."""
    text = str(path)
    try:
        text.encode()
    except UnicodeEncodeError:
        return path.absolute().as_uri()
    return text


def path_of(text: str) -> Path:
    """Return the path that `path_text` wrote."""
    if not text.startswith(_FILE_URI):
        return Path(text)
    return Path(os.fsdecode(unquote_to_bytes(text.removeprefix("file://"))))


def digest_tree(folder: Path, skip: Collection[str] = (), without: Collection[str] = ()) -> str:
    """Return the tree digest of a folder (as `models.bundle.tree_digest`).

    `skip` names top-level entries, `without` files by relative path. A link counts as the text of
    its target and is never followed. Raises StudyError for a missing folder, and for a socket, pipe
    or device.
    """
    if not folder.is_dir():
        raise StudyError(f"{str(folder)!r} is not a folder", file=str(folder))
    tree = hashlib.sha256()
    for name in sorted({*_names_below(folder, skip)}.difference(without), key=os.fsencode):
        path = folder / name
        mode = path.lstat().st_mode
        if stat.S_ISLNK(mode):
            content, executable = sha256(b"link to " + os.fsencode(path.readlink())), 0
        elif stat.S_ISREG(mode):
            content, executable = _file_digest(path), int(bool(mode & stat.S_IXUSR))
        else:
            raise StudyError(f"{str(path)!r} is not a regular file; remove it", file=str(path))
        tree.update(os.fsencode(name) + f"\0{executable}\0{content}\n".encode())
    return tree.hexdigest()


def _names_below(folder: Path, skip: Collection[str]) -> Iterator[str]:
    """Relative paths of everything but folders; links to folders are included."""
    for base, folders, names in os.walk(folder):
        place = Path(base).relative_to(folder)
        linked = [name for name in folders if Path(base, name).is_symlink()]
        if place == Path():
            folders[:] = [name for name in folders if name not in skip]
        for name in (*names, *linked):
            if place != Path() or name not in skip:
                yield (place / name).as_posix()


def _file_digest(path: Path) -> str:
    with path.open("rb") as data:
        return hashlib.file_digest(data, "sha256").hexdigest()


def digest_json(value: Any) -> str:
    """Return the sha256 of a value's canonical JSON (sorted keys)."""
    return sha256(json.dumps(value, sort_keys=True, separators=(",", ":"), default=str).encode())


def write_atomic(path: Path, data: bytes | str) -> None:
    """Write a file completely or not at all, as `replacement` does."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacement(path) as new:
        new.write_bytes(data.encode() if isinstance(data, str) else data)


@contextlib.contextmanager
def replacement(path: Path) -> Iterator[Path]:
    """Yield a temporary file next to `path`; synced, it replaces `path` if the block succeeds and
    is deleted otherwise.

    An existing `path` that is not a file, such as a pipe, is written directly. Also deletes
    temporary files of killed processes.
    """
    if path.exists() and not path.is_file():
        yield path
        return
    prefix = f".{path.name}.new."
    _remove_abandoned(path.parent, prefix)
    with _told_of(path):
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=prefix)
        new = Path(name)
        try:
            fcntl.flock(handle, fcntl.LOCK_SH)
            yield new
            sync(new)
            new.chmod(0o644)
            new.replace(path)
        except BaseException:
            new.unlink(missing_ok=True)
            raise
        finally:
            os.close(handle)


@contextlib.contextmanager
def _told_of(path: Path) -> Iterator[None]:
    """Add the file's name to a system error: "disk full" has none."""
    try:
        yield
    except OSError as error:
        error.filename = error.filename or str(path)
        raise


@contextlib.contextmanager
def fresh_dir(target: Path) -> Iterator[Path]:
    """Yield a staging folder that replaces `target` if the block succeeds and is deleted otherwise.

    A kill leaves the old folder, the new one, or the old one as `.<name>.old`, which the next call
    restores. Also deletes staging folders of ended processes.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    aside = target.parent / f".{target.name}.old"
    if aside.exists():
        if target.exists():
            shutil.rmtree(aside)
        else:
            aside.replace(target)
    prefix = f".{target.name}.new."
    _remove_abandoned(target.parent, prefix)
    staging = Path(tempfile.mkdtemp(dir=target.parent, prefix=prefix))
    lock = _lock(staging)
    try:
        staging.chmod(0o755)
        yield staging
        sync_tree(staging)
        if target.exists():
            target.replace(aside)
        staging.replace(target)
        shutil.rmtree(aside, ignore_errors=True)
    finally:
        shutil.rmtree(staging, ignore_errors=True)
        if lock is not None:
            os.close(lock)


def _remove_abandoned(parent: Path, prefix: str) -> None:
    for staging in parent.glob(f"{glob.escape(prefix)}*"):
        if (lock := _lock(staging)) is not None:
            if staging.is_dir():
                shutil.rmtree(staging, ignore_errors=True)
            else:
                staging.unlink(missing_ok=True)
            os.close(lock)


def _lock(path: Path) -> int | None:
    """Return a handle that locks a file or folder until it is closed or the process ends; None if
    another process holds the lock or the file is gone."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return None
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(handle)
        return None
    return handle


def sync_tree(folder: Path) -> None:
    """Flush every file and folder below `folder` to disk."""
    for base, _, names in os.walk(folder):
        for name in names:
            path = Path(base, name)
            if not path.is_symlink() and path.is_file():
                sync(path)
        sync(Path(base))


def sync(path: Path) -> None:
    """Flush a file, or the names in a folder, to disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def read_record(kind: type[R], path: Path) -> R:
    """Read a pydantic record from a JSON file; an invalid one is a one-line error with file, field
    and fix."""
    try:
        data = path.read_bytes()
    except FileNotFoundError as error:
        raise StudyError(f"{str(path)!r} does not exist", file=str(path)) from error
    from pydantic import ValidationError

    try:
        return kind.model_validate_json(data)
    except ValidationError as error:
        problems = error.errors()
    version = next((one for one in problems if one["loc"] == ("format_version",)), None)
    if version:  # it explains every other problem
        raise StudyError(
            f"{str(path)!r} has format_version {version['input']}, this skilljuror reads"
            f" {kind.model_fields['format_version'].default}: use the version that wrote it, or regenerate it",
            file=str(path),
            field="format_version",
        )
    problem = problems[0]
    if problem["type"] == "json_invalid":
        raise StudyError(
            f"{str(path)!r} is damaged: {problem['msg']}; restore it, or move it away and regenerate it",
            file=str(path),
        )
    field = ".".join(map(str, problem["loc"])) or "(whole file)"
    raise StudyError(
        f"{str(path)!r}: field {field!r}: {problem['msg']}", file=str(path), field=field
    )


def write_record(path: Path, record: "Record") -> None:
    """Write a pydantic record as indented JSON."""
    write_atomic(path, record.model_dump_json(indent=2) + "\n")


def write_jsonl(path: Path, rows: Iterable[Any]) -> None:
    """Write one JSON object per line, completely or not at all."""
    write_atomic(path, b"".join(_encode(row) + b"\n" for row in rows))


def append_jsonl(path: Path, *rows: Any, to_disk: bool = True) -> None:
    """Append objects, one per line, one thread or process at a time; no reader sees part of a line
    reported as written.

    Without `to_disk`, a kill loses nothing, but a crash of the machine may. Raises StudyError, and
    writes nothing, for a record that could not be read again.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = b"".join(_readable(row, path) + b"\n" for row in rows)
    with _told_of(path), path.open("ab+") as log:
        fcntl.flock(log, fcntl.LOCK_EX)
        log.write((b"" if _ends_with_a_whole_line(log) else b"\n") + lines)
        log.flush()
        if to_disk:
            fcntl.flock(log, fcntl.LOCK_UN)  # the next may write while this reaches the disk
            os.fsync(log.fileno())


def _readable(row: Any, path: Path) -> bytes:
    """Return a row as JSON, after checking that it can be read again."""
    data = _encode(row)
    if not isinstance(row, dict):
        try:
            _as_row(type(row), orjson.loads(data))
        except ValueError as error:  # of orjson, msgspec and pydantic alike
            raise StudyError(
                f"{str(path)!r}: a {type(row).__name__} was not saved, because it is invalid:"
                f" {_short(error)}"
            ) from error
    return data


def _ends_with_a_whole_line(log: IO[bytes]) -> bool:
    """Whether the file is empty or its last line is complete; a kill may have cut it."""
    if log.seek(0, os.SEEK_END) == 0:
        return True
    log.seek(-1, os.SEEK_END)
    return log.read(1) == b"\n"


def read_jsonl(path: Path) -> Iterator[Any]:
    """Yield the objects of one of our JSONL files; skip a line cut by a kill."""
    if not path.exists():
        return
    import jsonlines

    with path.open("rb") as lines:  # a kill tears a character as it tears a line
        reader = jsonlines.Reader(lines, loads=orjson.loads)
        while True:
            try:
                yield reader.read()
            except EOFError:
                return
            except jsonlines.InvalidLineError:
                LOG.warning("%s: a line is not JSON and was skipped", path)


def read_rows(kind: type[Row], path: Path, *, skip_damaged: bool = False) -> Iterator[Row]:
    """Yield the rows of one of our JSONL files as records or structs. Raises StudyError with file
    and row for another form; `skip_damaged` reports and skips such a row, for files of independent
    rows."""
    from pydantic import ValidationError

    for number, row in enumerate(read_jsonl(path), start=1):
        try:
            yield _as_row(kind, row)
        except (ValidationError, msgspec.ValidationError) as error:
            problem = f"{str(path)!r}: row {number} is not a {kind.__name__}: {_short(error)}"
            if not skip_damaged:
                raise StudyError(
                    f"{problem}; restore or regenerate the file", file=str(path)
                ) from error
            LOG.warning("%s; it was skipped", problem)


def _short(error: Exception) -> str:
    return " ".join(str(error).split())[:200]


def _as_row(kind: type[Row], row: Any) -> Row:
    validate = getattr(kind, "model_validate", None)
    return cast("Row", validate(row)) if validate else msgspec.convert(row, kind)


def _encode(row: Any) -> bytes:
    dump = getattr(row, "model_dump_json", None)
    return str(dump()).encode() if dump else msgspec.json.encode(row)


# Paths in a study folder.


class StudyFolder:
    """Paths in a study folder; no other code composes them."""

    def __init__(self, root: Path) -> None:
        self.root = root

    @classmethod
    def existing(cls, root: Path) -> "StudyFolder":
        """Return an existing study folder. Raises StudyError."""
        if not root.is_dir():
            why = "that is a file" if root.exists() else "the folder does not exist"
            raise StudyError(
                f"no study at {str(root)!r}: {why}; name the folder that `skilljuror run` or"
                " `skilljuror ingest` wrote",
                file=str(root),
            )
        return cls(root)

    @property
    def planned(self) -> bool:
        """Whether the study has its own trials; otherwise it holds foreign logs."""
        return self.plan_file.is_file()

    @property
    def study_file(self) -> Path:
        """Copy of the study file as run."""
        return self.root / "study.yaml"

    @property
    def plan_file(self) -> Path:
        """The frozen plan."""
        return self.root / "plan.json"

    @property
    def database(self) -> Path:
        """The disposable DuckDB file."""
        return self.root / "study.duckdb"

    @property
    def existing_database(self) -> Path:
        """The DuckDB file. Raises StudyError if it does not exist."""
        if not self.database.is_file():
            study, logs = str(self.root), "" if self.planned else " PATH"
            if (self.root / "build.json").is_file():
                raise StudyError(
                    f"{study!r} is a single build, which has files but no database: list its findings with"
                    f" skilljuror waive {quote(study)}; a database needs two or more sources in one folder (skilljuror build"
                    " A B --out DIR) or the trials of a study",
                    file=str(self.database),
                )
            raise StudyError(
                f"{study!r} has no database; create it with:"
                f" skilljuror ingest{logs} --study {quote(study)}",
                file=str(self.database),
            )
        return self.database

    @property
    def trials(self) -> Path:
        """Finished trials, one folder each."""
        return self.root / "trials"

    @property
    def jobs(self) -> Path:
        """Jobs of a harness that runs trials in batches, including unfinished attempts."""
        return self.root / "jobs"

    @property
    def sources_file(self) -> Path:
        """Paths given to `ingest` in observed mode, so that it can be repeated."""
        return self.root / "sources.jsonl"

    @property
    def calls(self) -> Path:
        """Log of model calls for its builds: a question is paid once per study."""
        return self.root / "calls.jsonl"

    @property
    def generation(self) -> Path:
        """Skills that were generated in this study, and where each came from."""
        return self.root / "generation.jsonl"

    @property
    def reviews(self) -> Path:
        """Decisions of people: waivers, answers, and accepted trials."""
        return self.root / "reviews.jsonl"

    @property
    def task_attributes(self) -> Path:
        """A model's classification of each task."""
        return self.root / "task-attributes.jsonl"

    @property
    def judged_items(self) -> Path:
        """Verdicts on the items of rubrics, by code and models."""
        return self.root / "judged-items.jsonl"

    @property
    def label_sample(self) -> Path:
        """The uses to be labelled by people, sampled once."""
        return self.root / "label-sample.json"

    @property
    def no_quotes(self) -> Path:
        """Exists in a study that stores no texts of its logs."""
        return self.root / "no-quotes"

    @property
    def report(self) -> Path:
        """Default folder of the report."""
        return self.root / "report"

    @property
    def builds(self) -> Path:
        """Builds of the tasks, one folder each."""
        return self.root / "variants"

    def build(self, task: str) -> Path:
        """The build of one task."""
        return self.builds / task

    def variant(self, task: str, variant: str) -> Path:
        """The skill folders of one variant of one task."""
        return self.build(task) / "variants" / variant

    @property
    def given(self) -> Path:
        """Skills that conditions offer unchanged, one folder each below the task's."""
        return self.root / "skills"

    def offered(self, task: str, variant: str) -> Path:
        """Return the Skill folders offered to a trial: a Skill as it is, or a variant."""
        given = self.given / task / variant
        return given if given.is_dir() else self.variant(task, variant)

    def trial(self, trial: str) -> Path:
        """The folder of one trial."""
        return self.trials / trial

    def trial_record(self, trial: str) -> Path:
        """The record of one trial."""
        return self.trial(trial) / "trial.json"

    def trial_raw(self, trial: str) -> Path:
        """The raw artifacts of one trial, unchanged."""
        return self.trial(trial) / "raw"

    def acceptance(self, trial: str) -> Path:
        """Where earlier versions stored the acceptance of a trial's result; now in `reviews`."""
        return self.trial(trial) / "accepted.json"

    @property
    def attempts(self) -> Path:
        """Earlier attempts at trials, one folder each; they do not count as results."""
        return self.root / "attempts"

    def attempt(self, trial: str, number: int) -> Path:
        """Return the folder of an earlier attempt at a trial, numbered from 1."""
        return self.attempts / f"{trial}__{number}"

    def earlier_attempts(self) -> list[tuple[str, int]]:
        """Yield (trial, number) of every earlier attempt, sorted."""
        if not self.attempts.is_dir():
            return []
        parts = (entry.name.rpartition("__") for entry in self.attempts.iterdir())
        return sorted((trial, int(number)) for trial, _, number in parts if number.isdecimal())

    def finished_trials(self) -> list[str]:
        """Return the names of trials that have a record, sorted."""
        if not self.trials.is_dir():
            return []
        return sorted(
            entry.name
            for entry in self.trials.iterdir()
            if not entry.name.startswith(".") and (entry / "trial.json").is_file()
        )


# Parse dates, times and durations such as 7d.


FORMS = "2026-01-31, 2026-01-31T12:00, or a duration back from now: 12h, 7d, 2w"

_AGO = re.compile(r"(\d{1,5})\s?([hdw])")
_HOURS = {"h": 1, "d": 24, "w": 24 * 7}


def parse_time(text: str, now: datetime | None = None) -> datetime:
    """Return a time with its zone, UTC by default; "7d" is seven days before `now`.

    Raises ValueError, with the accepted forms.
    """
    try:
        if ago := _AGO.fullmatch(text.strip()):
            return (now or datetime.now(UTC)) - timedelta(hours=int(ago[1]) * _HOURS[ago[2]])
        found = datetime.fromisoformat(text.strip())
    except (ValueError, OverflowError) as error:
        raise ValueError(f"{text!r} is not a date; use {FORMS}") from error
    return found if found.tzinfo else found.replace(tzinfo=UTC)
