"""What a trial leaves: its logs, its work, its reward and its verifier's output.

Regular files only are copied and listed, within one budget; links and pipes are never followed.
"""

import errno
import hashlib
import json
import math
import os
import posixpath
import shutil
import stat
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import suppress
from fnmatch import fnmatchcase
from itertools import dropwhile, islice
from pathlib import Path
from typing import Any, TypeVar

from msgspec import structs

from skilljuror.base.errors import MIN_SECRET, StudyError
from skilljuror.base.files import digest_tree
from skilljuror.base.study import REWARD, AgentProgram, Reward, chosen_reward
from skilljuror.harness.base import in_home
from skilljuror.harness.sandbox import walk

MAX_BYTES, MAX_FILES = 1_000_000_000, 50_000
"""Limits for reading a trial's files: bytes, files and folders."""
GONE = "gone"
"""Replaces the digest of a folder that is not a readable tree of regular files."""
MACHINE_FAULTS = frozenset({
    errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EIO,
})  # fmt: skip
"""File errors caused by the machine."""
MAX_LISTED = 2_000
"""Listed files of the working directory."""
LISTING = "artifacts.json"
"""List of the files that an agent left, in a trial's raw folder."""
WORK = "work"
"""Folder in a trial's raw folder with the text files that are kept of them."""
MAX_KEPT, MAX_KEPT_TOTAL = 256 * 1024, 4 * 1024 * 1024
"""Bytes of a kept file, and of all kept files of a trial."""
OUTPUT = Path("verifier", "test-stdout.txt")
"""Path of the verifier's output below the raw artifacts of local and Harbor trials."""
SOLUTION = (Path("agent-stdout.txt"), Path("agent-stderr.txt"), Path("agent", "oracle.txt"))
"""Paths of a solution's output: two of local trials, one of Harbor's."""
MAX_REWARD = 1_000_000
"""Bytes of a reward file."""
_MAX_LEFT_OUT = 20
"""Skipped files that are listed; the rest are counted."""
_BULK = frozenset({".git", ".venv", "__pycache__", "node_modules"})
"""Folders that programs fill; kept only if the study names their files."""
_FIRST_LINES = 20
_Read = TypeVar("_Read")
Unchanged = Callable[[str, os.stat_result], bool]
"""Says of a path and a file's state whether the file is as the agent found it."""


class Reading:
    """A budget for reading a trial's files, and the list of skipped ones."""

    def __init__(self) -> None:
        self.bytes, self.files = MAX_BYTES, MAX_FILES
        self.left_out: list[str] = []
        """Skipped files with reasons, for the trial's record."""
        self.more = 0
        """Number of further skipped files."""

    def leave_out(self, what: str) -> None:
        """Note a skipped file."""
        if len(self.left_out) < _MAX_LEFT_OUT:
            self.left_out.append(what[:300])
        else:
            self.more += 1

    def summary(self) -> tuple[str, ...]:
        """Summarize the skipped files."""
        return (*self.left_out, *([f"{self.more} more"] if self.more else []))

    def takes(self, name: str, size: int) -> bool:
        """Reserve bytes for a file; return False if too few are left."""
        if size > self.bytes:
            self.leave_out(f"{name}: {size} bytes are more than the {self.bytes} left")
            return False
        self.bytes -= size
        return True

    def of(self, what: str, reader: Callable[[], _Read], otherwise: _Read) -> _Read:
        """Return the reader's result, or `otherwise` with a note if it fails: an agent's output must not
        break a trial. Faults of the machine are raised."""
        try:
            return reader()
        except Exception as error:
            if isinstance(error, OSError) and error.errno in MACHINE_FAULTS:
                raise
            self.leave_out(f"{what}: {type(error).__name__}: {error}")
            return otherwise


def plain_files(
    folder: Path, others: list[str], reading: Reading, skip: Path | None = None
) -> Iterator[tuple[Path, os.stat_result]]:
    """Yield every regular file below `folder` in path order, without the folder `skip`; append other
    entries to `others`."""
    for base, folders, names in walk(folder):
        folders[:] = sorted(name for name in folders if Path(base, name) != skip)
        for path in (Path(base, name) for name in sorted([*names, *folders])):
            name = str(path.relative_to(folder))
            if reading.files <= 0:
                reading.leave_out(
                    f"{name} and everything after it: more than {MAX_FILES} files and folders"
                )
                return
            reading.files -= 1
            try:
                info = path.lstat()
            except OSError as error:  # such as a path that is too long
                others.append(f"{name[:200]}: {error.strerror}")
                continue
            if stat.S_ISREG(info.st_mode):
                yield path, info
            elif not stat.S_ISDIR(info.st_mode):
                others.append(f"{name}: not a regular file")


def plain_folder(root: Path, guest: str) -> Path | None:
    """Return the folder `guest` below `root` after untrusted programs ran; None if it is missing, or if
    its path has a link or an unreadable folder."""
    path = root
    with suppress(PermissionError):
        for part in guest.strip("/").split("/"):
            path /= part
            if path.is_symlink():
                return None
        return path if path.is_dir() else None
    return None


# Logs


def copy_logs(source: Path, target: Path, reading: Reading, skip: Path | None = None) -> list[str]:
    """Copy a log folder without the folder `skip`; return the entries that are not regular files or not
    readable."""
    left_out: list[str] = []
    target.mkdir(parents=True, exist_ok=True)
    for path, info in plain_files(source, left_out, reading, skip):
        name = path.relative_to(source)
        if not reading.takes(str(name), info.st_size):
            continue
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        try:
            shutil.copyfile(path, target / name, follow_symlinks=False)
        except PermissionError:
            left_out.append(f"{name}: not readable")
    return left_out


def collect_logs(root: Path, agent: AgentProgram, target: Path, reading: Reading) -> list[str]:
    """Copy the agent's logs below `target`, named as in HOME without the leading dot; return skipped
    ones with reasons."""
    left_out = []
    for name in agent.logs:
        folder = plain_folder(root, in_home(name))
        if folder is None:
            left_out.append(f"{name}: no folder")
            continue
        kept = target / name.removeprefix("~/").lstrip(".")
        left_out += [f"{name}/{what}" for what in copy_logs(folder, kept, reading)]
    return left_out


def listed_tools(stdout: Path) -> tuple[str, ...] | None:
    """Return the tools listed at the start of an agent's output, as in Claude Code, or None."""
    with stdout.open("rb") as data:
        lines = [*islice(data, _FIRST_LINES)]
    for line in lines:
        with suppress(ValueError, AttributeError, RecursionError):
            tools = json.loads(line).get("tools")
            if isinstance(tools, list) and all(isinstance(tool, str) for tool in tools):
                return tuple(tools)
    return None


def write_agent_record(path: Path, agent: AgentProgram) -> None:
    """Write the agent's command template, settings and names of keys."""
    fields: dict[str, Any] = structs.asdict(agent)
    fields |= {
        "files": [file.name for file in agent.files],
        "shown": [str(path) for path in agent.shown],
    }
    path.write_text(json.dumps(fields, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


# The agent's work


def list_files(folder: Path, reading: Reading) -> dict[str, Any]:
    """List path, size and digest of every file in the agent's working directory."""
    files: list[dict[str, Any]] = []
    others: list[str] = []
    for path, info in plain_files(folder, others, reading):
        if len(files) == MAX_LISTED:
            others.append(f"more than {MAX_LISTED} files")
            break
        name = str(path.relative_to(folder))
        if not reading.takes(name, info.st_size):
            continue
        try:
            with path.open("rb") as data:
                digest = hashlib.file_digest(data, "sha256").hexdigest()
        except PermissionError:
            others.append(f"{name}: not readable")
            continue
        files.append({"path": name, "size": info.st_size, "sha256": digest})
    return {"files": files, "others": others[:MAX_LISTED]}


def write_listing(raw: Path, listing: dict[str, Any]) -> None:
    """Write a trial's list of files."""
    text = json.dumps(listing, indent=1, ensure_ascii=False)
    (raw / LISTING).write_text(text, encoding="utf-8", errors="replace")


def unchanged_since(folder: Path) -> Unchanged:
    """Note the files below `folder`; return what tells which of them still have their size and time."""
    states = {
        str(path.relative_to(folder)): (info.st_size, info.st_mtime_ns)
        for path, info in plain_files(folder, [], Reading())
    }
    return lambda name, info: states.get(name) == (info.st_size, info.st_mtime_ns)


def keep_work(
    folder: Path, target: Path, patterns: Collection[str] | None, unchanged: Unchanged
) -> list[str]:
    """Copy an agent's text files below `folder` to `target`: those that match a pattern, or, without
    patterns, those that it changed.

    Files near the root go first. Return what matches and is not kept, with the reason.
    """
    reading, not_kept = Reading(), []
    reading.bytes = MAX_KEPT_TOTAL
    target.mkdir(parents=True, exist_ok=True)
    files = [(path.relative_to(folder), info) for path, info in plain_files(folder, [], reading)]
    for name, info in sorted(files, key=lambda file: (len(file[0].parts), file[0])):
        if patterns is None:
            wanted = _BULK.isdisjoint(name.parts) and not unchanged(str(name), info)
        else:
            wanted = any(fnmatchcase(name.as_posix(), pattern) for pattern in patterns)
        if wanted and (why := _not_kept(folder / name, target / name, info.st_size, reading)):
            not_kept.append(f"{name}: {why}")
    return [*not_kept[:MAX_LISTED], *(why for why in reading.left_out if "everything after" in why)]


def _not_kept(path: Path, target: Path, size: int, reading: Reading) -> str | None:
    """Copy a text file; return why it is not kept, or None."""
    if size > MAX_KEPT:
        return f"{size} bytes, more than {MAX_KEPT}"
    if size > reading.bytes:
        return f"all kept files together are limited to {MAX_KEPT_TOTAL} bytes"
    try:
        data = path.read_bytes()
        if "\0" in data.decode():
            return "not text"
    except OSError as error:
        return f"not readable: {error.strerror}"
    except UnicodeDecodeError:
        return "not text"
    reading.bytes -= size
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(data)
    return None


def digest_left(root: Path, guest: str, reading: Reading, without: Collection[str] = ()) -> str:
    """Digest the folder `guest` below `root` after untrusted programs ran, excluding `without` (relative
    paths). Return "gone" if it is not a readable tree of regular files and links, or exceeds the
    budget. Links to folders are not followed."""
    path = plain_folder(root, guest)
    if (
        path is None
        or not all(
            reading.takes(str(file.relative_to(root)), info.st_size)
            for file, info in plain_files(path, [], reading)
        )
        or reading.files <= 0
    ):
        return GONE
    try:
        return digest_tree(path, without=without)
    except (OSError, StudyError):
        return GONE


# What could mislead a verifier


def drop_traps(
    root: Path, base: Path, work: Iterable[str], places: Iterable[str], reading: Reading
) -> None:
    """Remove links below `root` that leave the folders `work` or touch `places` (paths below `base`, which
    is / for them), and everything but files, folders and links. Note each in `reading`."""
    kept, others = [*map(Path, work)], [*map(Path, places)]

    def trap(path: Path) -> str | None:
        try:
            mode = path.lstat().st_mode
        except OSError:  # such as a path that is too long, which is not copied either
            return None
        if not stat.S_ISLNK(mode):
            return None if stat.S_ISREG(mode) else "not a regular file"
        target = path.readlink()
        inner = [*dropwhile("..".__eq__, target.parts)]
        end = Path(posixpath.normpath("/" / path.parent.relative_to(base) / target))
        inside = ".." not in inner and any(end.is_relative_to(folder) for folder in kept)
        if inside and not any(end.is_relative_to(p) or p.is_relative_to(end) for p in others):
            return None  # links that it leads through are judged themselves
        return f"a link out of the work, to {str(target)!r}"

    for folder, folders, names in walk(root):
        for name in folders:  # one that is locked could hide a trap
            _allow(Path(folder, name), stat.S_IRUSR | stat.S_IXUSR)
        for path in (Path(folder, name) for name in names):
            if why := trap(path):
                _allow(path.parent, stat.S_IRWXU)
                path.unlink()
                reading.leave_out(f"{path.relative_to(root)}: {why}; the verifier did not get it")


def _allow(folder: Path, what: int) -> None:
    with suppress(OSError):
        mode = folder.stat().st_mode
        if mode & what != what:
            folder.chmod(mode | what)


# The verifier's answer


def read_reward(folder: Path, keys: Collection[str] = ()) -> Reward:
    """Read the reward in a verifier's log folder; reward.json overrides reward.txt. The values of `keys`
    are redacted in errors."""
    for name in ("reward.json", "reward.txt"):
        path = folder / name
        try:
            info = path.lstat()
        except OSError:
            continue
        if not stat.S_ISREG(info.st_mode) or info.st_size > MAX_REWARD:
            return Reward(
                None, problem=f"{name} is not a regular file of at most {MAX_REWARD} bytes"
            )
        try:
            data = path.read_bytes()
        except PermissionError:
            return Reward(None, problem=f"{name} is not readable")
        for key in filter(lambda key: len(key) >= MIN_SECRET, keys):
            data = data.replace(key.encode(), b"[redacted]")
        if name == "reward.json":
            return _from_json(data)
        try:
            return chosen_reward({REWARD: float(data)})
        except ValueError:
            return Reward(None, problem=f"reward.txt is not a number: {data[:40]!r}")
    return Reward(None, problem="the verifier wrote neither reward.json nor reward.txt")


def _from_json(data: bytes) -> Reward:
    try:
        raw = json.loads(data)
    except (ValueError, RecursionError):
        return Reward(None, problem=f"reward.json is not JSON: {data[:40]!r}")
    if not isinstance(raw, dict) or not raw:
        return Reward(None, problem=f"reward.json is not an object of numbers: {data[:40]!r}")
    rewards = {}
    for key, value in raw.items():
        number = math.nan
        if isinstance(value, int | float) and not isinstance(value, bool):
            with suppress(OverflowError):
                number = float(value)
        if not math.isfinite(number):
            return Reward(None, problem=f"reward.json: {key[:40]!r} is not a finite number")
        rewards[key] = number
    return chosen_reward(rewards)


def verifier_output(raw: Path, limit: int) -> str | None:
    """Return up to `limit` last bytes of a verifier's output, starting at a line; None if missing."""
    return _tail(raw / OUTPUT, limit)


def solution_output(raw: Path, limit: int) -> str | None:
    """Return the same of a solution's output; None if it printed nothing."""
    return "".join(filter(None, (_tail(raw / path, limit) for path in SOLUTION))) or None


def _tail(path: Path, limit: int) -> str | None:
    if path.is_symlink() or not path.is_file():
        return None
    with path.open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(0, size - limit))
        text = file.read(limit).decode("utf-8", errors="replace")
    return text if size <= limit else "…\n" + text.partition("\n")[2]


def last_lines(text: str, lines: int) -> str:
    """Return the last lines of a text, after "…" if earlier ones are omitted."""
    shown = text.rstrip("\n").split("\n")
    return "\n".join(shown if len(shown) <= lines else ["…", *shown[-lines:]])
