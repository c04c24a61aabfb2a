"""Paths of a study, and safe writing.

Records and rows are JSON. A write is complete or has no effect, and is on disk when it returns."""

import contextlib
import hashlib
import json
import logging
import os
import re
import shutil
import stat
from collections.abc import Collection, Iterable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any, TypeVar, cast
from urllib.parse import unquote_to_bytes

import msgspec
import orjson

from skilljuror.base.errors import StudyError, UsageError
from skilljuror.base.object_store import address, is_file, paths_at
from skilljuror.base.platforms import lock, sync

if TYPE_CHECKING:
    from skilljuror.base.build import Record

LOG = logging.getLogger(__name__)
R = TypeVar("R", bound="Record")
Row = TypeVar("Row")


def data_dir(kind: str) -> Path:
    """Return a folder of packaged data (transforms, rubrics, examples): in the wheel, else the checkout."""
    package = Path(__file__).parents[1]
    for candidate in (package / "_data" / kind, package.parent / kind):
        if candidate.is_dir():
            return candidate
    raise UsageError(f"the data folder {kind!r} is not installed; reinstall skilljuror")


def sha256(data: bytes) -> str:
    """Return the sha256 in hexadecimal."""
    return hashlib.sha256(data).hexdigest()


def digest_json(value: Any) -> str:
    """Return the sha256 of a value's canonical JSON (sorted keys)."""
    return sha256(json.dumps(value, sort_keys=True, separators=(",", ":"), default=str).encode())


def digest_tree(folder: Path, skip: Collection[str] = (), without: Collection[str] = ()) -> str:
    """Return the tree digest of a folder (as `skill.tree_digest`).

    `skip` names top-level entries, `without` files by relative path; `__pycache__` never counts. A link counts
    as the text of its target and is never followed. Raises StudyError for a missing folder, and for a socket,
    pipe or device.
    """
    if not folder.is_dir():
        raise StudyError(f"{str(folder)!r} is not a folder", file=str(folder))
    names = set[str]()
    for base, folders, files in os.walk(folder):
        place = Path(base).relative_to(folder)
        linked = [name for name in folders if Path(base, name).is_symlink()]
        left_out = {"__pycache__", *(skip if place == Path() else ())}
        folders[:] = [name for name in folders if name not in left_out]
        names |= {(place / name).as_posix() for name in (*files, *linked) if name not in left_out}
    tree = hashlib.sha256()
    for name in sorted(names.difference(without), key=os.fsencode):
        path = folder / name
        mode, executable = path.lstat().st_mode, 0
        if stat.S_ISLNK(mode):
            content = sha256(b"link to " + os.fsencode(path.readlink()))
        elif stat.S_ISREG(mode):
            executable = int(bool(mode & stat.S_IXUSR))
            with path.open("rb") as data:
                content = hashlib.file_digest(data, "sha256").hexdigest()
        else:
            raise StudyError(f"{str(path)!r} is not a regular file; remove it", file=str(path))
        tree.update(os.fsencode(name) + f"\0{executable}\0{content}\n".encode())
    return tree.hexdigest()


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
    if not text.startswith("file:///"):
        return Path(text)
    return Path(os.fsdecode(unquote_to_bytes(text.removeprefix("file://"))))


# Complete writes.


def write_atomic(path: Path, data: bytes | str) -> None:
    """Write a file completely or not at all, as `replacement` does."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacement(path) as new:
        new.write_bytes(data.encode() if isinstance(data, str) else data)


@contextlib.contextmanager
def replacement(path: Path) -> Iterator[Path]:
    """Yield a file next to `path`, which replaces it if the block succeeds and is deleted otherwise; one
    that a killed process left is overwritten.

    An existing `path` that is not a file, such as a pipe, is written directly.
    """
    if path.exists() and not path.is_file():
        yield path
        return
    new = path.with_name(f".{path.name}.new")
    try:
        yield new
        sync(new)
        new.replace(path)
    except OSError as error:
        error.filename = error.filename or str(path)  # "disk full" names no file
        raise
    finally:
        new.unlink(missing_ok=True)


@contextlib.contextmanager
def fresh_dir(target: Path) -> Iterator[Path]:
    """Yield an empty folder that replaces `target` if the block succeeds and is deleted otherwise.

    A kill leaves the old folder, the new one, or the old one as `.<name>.old`, which the next call
    restores.
    """
    new, aside = target.with_name(f".{target.name}.new"), target.with_name(f".{target.name}.old")
    if aside.exists():
        if target.exists():
            shutil.rmtree(aside)
        else:
            aside.replace(target)
    shutil.rmtree(new, ignore_errors=True)
    new.mkdir(parents=True)
    try:
        yield new
        sync_tree(new)
        if target.exists():
            target.replace(aside)
        new.replace(target)
        shutil.rmtree(aside, ignore_errors=True)
    finally:
        shutil.rmtree(new, ignore_errors=True)


def sync_tree(folder: Path) -> None:
    """Flush every file and folder below `folder` to disk."""
    for base, _, names in os.walk(folder):
        for path in (*(Path(base, name) for name in names), Path(base)):
            if path.is_dir() or (path.is_file() and not path.is_symlink()):
                sync(path)


# Records and rows.


def read_record(kind: type[R], path: Path) -> R:
    """Read a pydantic record from a JSON file; an invalid one is a one-line error with file, field
    and fix."""
    from pydantic import ValidationError

    try:
        return kind.model_validate_json(path.read_bytes())
    except FileNotFoundError as error:
        raise StudyError(f"{str(path)!r} does not exist", file=str(path)) from error
    except ValidationError as error:
        problem = error.errors()[0]
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
    write_atomic(path, b"".join(map(_line, rows)))


def append_jsonl(path: Path, *rows: Any, to_disk: bool = True) -> None:
    """Append objects, one per line, one thread or process at a time; a line that a kill cut is ended
    first. Without `to_disk`, a kill loses nothing, but a crash of the machine may."""
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = b"".join(map(_line, rows))
    with path.open("ab+") as log:
        lock(log)
        if log.seek(0, os.SEEK_END):
            log.seek(-1, os.SEEK_END)
            lines = lines if log.read(1) == b"\n" else b"\n" + lines
        log.write(lines)
    if to_disk:  # the next may write meanwhile
        sync(path)


def _line(row: Any) -> bytes:
    dump = getattr(row, "model_dump_json", None)
    return (dump().encode() if dump else msgspec.json.encode(row)) + b"\n"


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

    validate = getattr(kind, "model_validate", None)
    for number, row in enumerate(read_jsonl(path), start=1):
        try:
            yield cast("Row", validate(row)) if validate else msgspec.convert(row, kind)
        except (ValidationError, msgspec.ValidationError) as error:
            reason = " ".join(str(error).split())[:200]
            problem = f"{str(path)!r}: row {number} is not a {kind.__name__}: {reason}"
            if not skip_damaged:
                raise StudyError(
                    f"{problem}; restore or regenerate the file", file=str(path)
                ) from error
            LOG.warning("%s; it was skipped", problem)


# Paths in a study folder.


_SHARD = re.compile(r"[1-9][0-9]*-of-[1-9][0-9]*")


class StudyFolder:
    """Paths in a study folder; no other code composes them."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.study_file = root / "study.yaml"
        """Copy of the study file as run."""
        self.plan_file = root / "plan.json"
        """The frozen plan."""
        self.database = root / "study.duckdb"
        """The disposable DuckDB file."""
        self.trials = root / "trials"
        """Finished trials, one folder each."""
        self.attempts = root / "attempts"
        """Earlier attempts at trials, one folder each; they do not count as results."""
        self.jobs = root / "jobs"
        """Jobs of a harness that runs trials in batches, including unfinished attempts."""
        self.sources_file = root / "sources.jsonl"
        """Paths given to `ingest` in observed mode, so that it can be repeated."""
        self.calls = root / "calls.jsonl"
        """Log of model calls for its builds: a question is paid once per study."""
        self.generation = root / "generation.jsonl"
        """Skills that were generated in this study, and where each came from."""
        self.reviews = root / "reviews.jsonl"
        """Decisions of people: waivers, answers, and accepted trials."""
        self.task_attributes = root / "task-attributes.jsonl"
        """A model's classification of each task."""
        self.judged_items = root / "judged-items.jsonl"
        """Verdicts on the items of rubrics, by code and models."""
        self.label_sample = root / "label-sample.json"
        """The uses to be labelled by people, sampled once."""
        self.no_quotes = root / "no-quotes"
        """Exists in a study that stores no texts of its logs."""
        self.report = root / "report"
        """Default folder of the report."""
        self.builds = root / "variants"
        """Builds of the tasks, one folder each."""
        self.given = root / "skills"
        """Skills that conditions offer unchanged, one folder each below the task's."""

    @classmethod
    def existing(cls, root: Path) -> "StudyFolder":
        """Return an existing study folder, or one in an object store. Raises StudyError."""
        if not (root.is_dir() or address(root)):
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
    def shards(self) -> list[Path]:
        """Folders of its shards, missing ones included, in order; [] for a study with one database.

        Raises StudyError for shards of two splits, and for shards next to a database.
        """
        found = paths_at(self.root, "*-of-*")
        names = [path.name for path in found if _SHARD.fullmatch(path.name)]
        splits = {int(name.rpartition("-")[2]) for name in names}
        if splits and len(splits) + is_file(self.database) > 1:
            raise StudyError(
                f"{str(self.root)!r} holds shards of two splits, or shards and a database: {', '.join(sorted(names))};"
                " keep one split in it",
                file=str(self.root),
            )
        return [self.shard(k, count) for count in splits for k in range(1, count + 1)]

    def shard(self, number: int, count: int) -> Path:
        """The folder of one shard, a study of its own."""
        return self.root / f"{number}-of-{count}"

    @property
    def missing_shards(self) -> str:
        """Say which shards are missing; "" for none."""
        lacking = [path for path in self.shards if not is_file(StudyFolder(path).database)]
        if not lacking:
            return ""
        numbers = ", ".join(path.name.partition("-")[0] for path in lacking)
        are = "shards {} of {} are" if lacking[1:] else "shard {} of {} is"
        return f"{are.format(numbers, len(self.shards))} missing: {str(lacking[0])!r}"

    def readable(self, *, partial: bool | None = None) -> Path:
        """What `open_read` opens: the database, or for shards, the pattern of their databases.

        Raises StudyError if one is missing; `partial` allows that, None means that the caller cannot.
        """
        if partial is None and (url := address(self.root)):
            raise StudyError(
                f"only query, usage and open_study read {url!r}; copy it to a folder of this machine",
                file=url,
            )
        if not (shards := self.shards):
            return self.existing_database
        if not partial and (missing := self.missing_shards):
            instead = "" if partial is None else " or pass --partial"
            raise StudyError(f"{missing}; ingest it{instead}", file=str(self.root))
        return self.root / f"*-of-{len(shards)}" / self.database.name

    @property
    def existing_database(self) -> Path:
        """The DuckDB file. Raises StudyError if it does not exist."""
        if is_file(self.database):
            return self.database
        if shards := self.shards:
            raise StudyError(
                f"{str(self.root)!r} holds {len(shards)} shards, which only query, usage, report and show read as one;"
                f" name one of them, such as {str(shards[0])!r}",
                file=str(self.root),
            )
        if url := address(self.root):
            raise StudyError(
                f"no study at {url!r}: name what holds study.duckdb, or its shards", file=url
            )
        study, logs = str(self.root), "" if self.planned else " PATH"
        problem = f"has no database; create it with: skilljuror ingest{logs} --study {quote(study)}"
        if (self.root / "build.json").is_file():
            problem = (
                f"is a single build, which has files but no database: list its findings with skilljuror waive"
                f" {quote(study)}; a database needs two or more sources in one folder (skilljuror build A B --out"
                " DIR) or the trials of a study"
            )
        raise StudyError(f"{study!r} {problem}", file=str(self.database))

    def build(self, task: str) -> Path:
        """The build of one task."""
        return self.builds / task

    def variant(self, task: str, variant: str) -> Path:
        """The skill folders of one variant of one task."""
        return self.build(task) / "variants" / variant

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

    def attempt(self, trial: str, number: int) -> Path:
        """Return the folder of an earlier attempt at a trial, numbered from 1."""
        return self.attempts / f"{trial}__{number}"

    def earlier_attempts(self) -> list[tuple[str, int]]:
        """Return (trial, number) of every earlier attempt, sorted."""
        parts = (path.name.rpartition("__") for path in self.attempts.glob("*"))
        return sorted((trial, int(number)) for trial, _, number in parts if number.isdecimal())

    def finished_trials(self) -> list[str]:
        """Return the names of trials that have a record, sorted."""
        return sorted(path.parent.name for path in self.trials.glob("[!.]*/trial.json"))


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
        moment = datetime.fromisoformat(text.strip())
    except (ValueError, OverflowError) as error:
        raise ValueError(f"{text!r} is not a date; use {FORMS}") from error
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
