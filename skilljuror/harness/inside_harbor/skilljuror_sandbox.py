"""A Harbor environment in bubblewrap, with real /app /logs /tests /root and without Docker.

One process holds a trial's namespaces; every command enters them, and ends when the holder dies.
Files are copied by `tar` inside, so that no link of an agent is followed on the host. Files of a
task's Dockerfile are prepared before (`root`): nothing is built here.
"""

import asyncio
import contextlib
import json
import os
import shutil
import signal
import subprocess
import tarfile
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from harbor.environments.base import BaseEnvironment, ExecResult
from harbor.environments.capabilities import EnvironmentCapabilities
from skilljuror_bwrap import (
    LEFT_OUT,
    MAX_BYTES,
    MAX_FILES,
    MAX_SECONDS,
    become,
    bwrap_words,
    is_root,
    lay_out,
    next_user,
    own_file,
    own_folder,
    sealed,
)

FOLDERS = (
    "/app", "/etc", "/harbor", "/installed-agent", "/logs/agent", "/logs/artifacts",
    "/logs/verifier", "/root", "/runtime", "/solution", "/tests", "/tmp",
)  # fmt: skip
PROXY, RELAY = "/run/proxy", "/run/skilljuror_relay.py"
"""The proxy's socket and the relay to it, in a sandbox without another network."""
LIMITS = ("--nproc=512", "--fsize=4000000000", "--core=0")
"""Processes of a trial, bytes of a file."""
MAX_TOLD = 20
"""Skipped files that are listed by name."""
MAX_NAME = 3_000
"""Maximum bytes of a name, so that its path fits below a host folder."""
COPY_SECONDS = 300.0
"""Time limit for copying files into a sandbox, seconds."""
MAX_OUTPUT = 4_000_000
"""Saved bytes of stdout and of stderr."""


class _OutOfTimeError(RuntimeError):
    """A command exceeded its time limit."""


class SandboxEnvironment(BaseEnvironment):
    """The environment of one trial."""

    def __init__(
        self,
        *args: Any,
        task: dict[str, str],
        host: dict[str, Any],
        network: bool = False,
        show: list[str] | None = None,
        hide: list[str] | None = None,
        path: list[str] | None = None,
        **kwargs: Any,
    ) -> None:
        """`task` names the `root` (initial files) and `workdir` of the task; `host` lists the host's
        shared parts (`host_parts`); `show` are further host folders, `hide` folders that appear
        empty inside them; `path` precedes the usual PATH. A `proxy` of `host` (its `socket`, the
        `relay` to it, `port` and variables `env`) replaces the network."""
        self.task, self.network = task, network
        self.host = {**host, "show": [*host["show"], *(show or [])]}
        self.path, self.hide = [*(path or []), host["path"]], hide or []
        self.proxy: dict[str, Any] | None = host.get("proxy")
        self.user = next_user()
        self.place: Path | None = None
        self.holder: subprocess.Popen[bytes] | None = None
        self.first = 0
        self.left_out: list[str] = []
        super().__init__(*args, **kwargs)

    @staticmethod
    def type() -> str:
        """Name in Harbor."""
        return "bwrap"

    @property
    def capabilities(self) -> EnvironmentCapabilities:
        """Logs are fetched, and the network can be disabled."""
        return EnvironmentCapabilities(mounted=False, disable_internet=True)

    def _validate_definition(self) -> None:
        """Required by Harbor; nothing to check."""

    @property
    def workdir(self) -> str:
        """Working directory of commands."""
        return self.task_env_config.workdir or self.task["workdir"]

    async def start(self, force_build: bool) -> None:
        """Copy the initial files and start the process that holds the namespaces."""
        self.place = Path(tempfile.mkdtemp(prefix="skilljuror-trial-")).resolve()
        await asyncio.to_thread(self._lay_out, self.place / "root")
        self._hold()
        assert self.holder is not None
        assert self.holder.stdout is not None
        assert self.holder.stderr is not None
        if await asyncio.to_thread(self.holder.stdout.readline) != b"ready\n":
            said = (await asyncio.to_thread(self.holder.stderr.read)).decode(errors="replace")
            raise RuntimeError(f"the sandbox could not be started: {said.strip()}")

    async def stop(self, delete: bool) -> None:
        """End every process of the trial and delete its files."""
        holder, self.holder = self.holder, None
        if holder is not None:
            _kill_group(holder.pid)  # process 1 is of this group, and takes all others along
            await asyncio.to_thread(holder.communicate)
        place, self.place = self.place, None
        if place is not None and delete:
            await asyncio.to_thread(_remove, place)

    async def exec(
        self,
        command: str,
        cwd: str | None = None,
        env: dict[str, str] | None = None,
        timeout_sec: int | None = None,
        user: str | int | None = None,
    ) -> ExecResult:
        """Run a shell command; `user` is ignored, as one user owns all files."""
        words = ("bash", "-c", 'cd "$0" && exec bash -c "$1"', cwd or self.workdir, command)
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            code = await self._run(words, self._env(env), (None, out, err), timeout_sec)
            result = ExecResult(stdout=_text(out), stderr=_text(err), return_code=code)
        if callback := self._output_callback():
            await callback(result.stdout or "", "stdout")
            await callback(result.stderr or "", "stderr")
        return result

    async def upload_file(self, source_path: Path | str, target_path: str) -> None:
        """Copy a host file in."""
        folder, _, name = str(target_path).rpartition("/")
        await self._unpack({name: Path(source_path)}, folder or "/")

    async def upload_dir(self, source_dir: Path | str, target_dir: str) -> None:
        """Copy the content of a host folder into a folder."""
        entries = {path.name: path for path in sorted(Path(source_dir).iterdir())}
        await self._unpack(entries, str(target_dir))

    async def download_file(self, source_path: str, target_path: Path | str) -> None:
        """Copy a file out, up to the size limit."""
        target = Path(target_path)
        target.parent.mkdir(parents=True, exist_ok=True)
        with target.open("wb") as file:
            words = ("head", "-c", str(MAX_BYTES), "--", str(source_path))
            await self._demand(words, (None, file), (0,), MAX_SECONDS)
            if file.seek(0, os.SEEK_END) == MAX_BYTES:
                self._leave_out([f"{source_path}: all after {MAX_BYTES} bytes"])

    async def download_dir(self, source_dir: str, target_dir: Path | str) -> None:
        """Copy the regular files of a folder out, within the limits of reading; skip links, pipes
        and unreadable files."""
        if self.holder is None:  # Harbor asks for logs after a failed start as well
            return
        Path(target_dir).mkdir(parents=True, exist_ok=True)
        end = time.monotonic() + MAX_SECONDS
        kinds = ("(", "-type", "f", "-o", "-type", "d", ")")
        find = ("find", str(source_dir), "-mindepth", "1", *kinds, "-printf", "%y %s %P\\0")
        how = ("--hard-dereference", "--ignore-failed-read", "--no-recursion")
        listed = ("--null", "--verbatim-files-from", "-T", "-")
        tar = ("tar", "-cf", "-", *how, "-C", str(source_dir), *listed)
        with (
            tempfile.TemporaryFile() as found,
            tempfile.TemporaryFile() as names,
            tempfile.TemporaryFile() as archive,
        ):
            try:
                await self._demand(find, (None, found), (0, 1), MAX_SECONDS)
                self._leave_out(_choose(found, names, source_dir))
                if not names.tell():
                    return
                names.seek(0)
                left = end - time.monotonic()
                await self._demand(tar, (names, archive), (0, 1, 2), left)  # 2: a file has gone
                archive.seek(0)
                await asyncio.to_thread(_extract, archive, Path(target_dir))
            except _OutOfTimeError:
                self._leave_out([f"{source_dir}: reading took {MAX_SECONDS:g} s"])
            except tarfile.ReadError as error:
                self._leave_out([f"{source_dir}: {error}"])

    def _leave_out(self, what: list[str]) -> None:
        """Record skipped files for the trial, next to Harbor's own files."""
        self.left_out += what
        if self.left_out:
            text = json.dumps([*self.left_out[:MAX_TOLD], *_more(len(self.left_out) - MAX_TOLD)])
            (self.trial_paths.trial_dir / LEFT_OUT).write_text(text, encoding="utf-8")

    async def _unpack(self, entries: dict[str, Path], folder: str) -> None:
        with tempfile.TemporaryFile() as archive, tempfile.TemporaryFile() as out:
            await asyncio.to_thread(_pack, archive, entries)
            archive.seek(0)
            words = ("bash", "-c", 'mkdir -p "$0" && exec tar -xf - -C "$0"', folder)
            await self._demand(words, (archive, out), (0,), COPY_SECONDS)

    async def _demand(
        self,
        words: tuple[str, ...],
        files: tuple[Any, Any],
        good: tuple[int, ...],
        seconds: float,
    ) -> None:
        """Run a command of our own that must succeed in time."""
        with tempfile.TemporaryFile() as err:
            code = await self._run(words, self._env(None), (*files, err), seconds)
            if code not in good:
                raise RuntimeError(f"{words[0]} ended with {code} in the sandbox: {_text(err)}")

    async def _run(
        self,
        words: tuple[str, ...],
        env: dict[str, str],
        files: tuple[Any, Any, Any],
        timeout: float | None,
    ) -> int:
        """Run a command in the namespaces; a timeout or cancellation kills its whole group."""
        if self.holder is None:
            raise RuntimeError("the sandbox is not running")
        process = await asyncio.create_subprocess_exec(
            *self._enter(), *words, env=env, start_new_session=True,
            stdin=files[0] or subprocess.DEVNULL, stdout=files[1], stderr=files[2],
        )  # fmt: skip
        try:
            return await asyncio.wait_for(process.wait(), timeout)
        except TimeoutError as error:
            raise _OutOfTimeError(f"Command timed out after {timeout} seconds") from error
        finally:
            if process.returncode is None:
                _kill_group(process.pid)
                await process.wait()

    def _env(self, env: dict[str, str] | None) -> dict[str, str]:
        return {
            "PATH": ":".join(self.path),
            "HOME": "/root",
            "TMPDIR": "/tmp",
            "LANG": "C.UTF-8",
            "TZ": "UTC",
            "TERM": "dumb",
            "PYTHONDONTWRITEBYTECODE": "1",
            "APP_DIR": self.workdir,
            "LOGS_DIR": "/logs",
            "TESTS_DIR": "/tests",
            **(self.proxy["env"] if self.proxy else {}),
            **(self._merge_env(env) or {}),
        }

    @property
    def _online(self) -> bool:
        return self.network and not self._network_disabled and not self.proxy

    def _hold(self) -> None:
        """Start the process that holds the namespaces, without an await in which it could be lost."""
        assert self.place is not None
        root, online = self.place / "root", self._online
        words = bwrap_words(root, self.user, self.host, network=online, hide=self.hide)
        holding = ["sh", "-c", "echo ready; exec sleep infinity"]
        if self.proxy and not self._network_disabled:
            for guest, place in ((PROXY, "socket"), (RELAY, "relay")):
                own_file(root, guest)
                words += ["--bind", self.proxy[place], guest]
            holding = ["python3", RELAY, str(self.proxy["port"]), PROXY, *holding]
        reading, writing = os.pipe()
        with os.fdopen(reading, encoding="utf-8") as status:
            try:
                words = [*words, "--json-status-fd", str(writing), "--chdir", "/", "--"]
                words += holding
                self.holder = subprocess.Popen(
                    sealed(words, self.host), env=self._env(None), start_new_session=True, pass_fds=(writing,),
                    stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                )  # fmt: skip
            finally:
                os.close(writing)
            if line := status.readline():
                self.first = int(json.loads(line)["child-pid"])

    def _lay_out(self, root: Path) -> None:
        shutil.copytree(self.task["root"], root, symlinks=True)
        for guest in (*FOLDERS, self.workdir):
            own_folder(root, guest)
        lay_out(root, self.user, self.host, network=self._online)

    def _enter(self) -> list[str]:
        """Command prefix: enter the namespaces, set limits, drop every privilege."""
        words = ["nsenter", "--target", str(self.first), "--all"]
        words += [] if is_root() else ["--preserve-credentials"]
        return sealed([*words, "--", "prlimit", *LIMITS, "--", *become(self.user)], self.host)


def _kill_group(process: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process, signal.SIGKILL)


def _text(file: IO[bytes]) -> str:
    """Return the first part of the output, and how much more there was."""
    size = file.seek(0, os.SEEK_END)
    file.seek(0)
    text = file.read(MAX_OUTPUT).decode(errors="replace")
    return text if size <= MAX_OUTPUT else f"{text}\n[cut here: {size - MAX_OUTPUT} more bytes]\n"


def _pack(archive: IO[bytes], entries: dict[str, Path]) -> None:
    with tarfile.open(fileobj=archive, mode="w") as tar:
        for name, path in entries.items():
            tar.add(path, arcname=name)


def _choose(found: IO[bytes], names: IO[bytes], folder: str) -> list[str]:
    """Write the names to copy from `find`'s output of kind, bytes and name; return what is skipped."""
    found.seek(0)
    entries = (entry.split(b" ", 2) for entry in _entries(found))
    left, left_out = MAX_BYTES, []
    for number, (kind, size, name) in enumerate(entries):
        shown = f"{folder}/{name.decode(errors='backslashreplace')}"[:300]
        if number == MAX_FILES:
            left_out.append(
                f"{shown} and everything after it: more than {MAX_FILES} files and folders"
            )
            break
        if len(name) > MAX_NAME:
            left_out.append(f"{shown}: File name too long")
        elif kind == b"f" and int(size) > left:
            left_out.append(f"{shown}: {int(size)} bytes are more than the {left} left")
        else:
            left -= int(size) if kind == b"f" else 0
            names.write(name + b"\0")
    return left_out


def _entries(file: IO[bytes]) -> Iterator[bytes]:
    """Split a file's content at NULs."""
    rest = b""
    while data := file.read(1_000_000):
        *whole, rest = (rest + data).split(b"\0")
        yield from whole


def _more(count: int) -> list[str]:
    return [f"{count} more"] if count > 0 else []


def _extract(archive: IO[bytes], target: Path) -> None:
    def plain(member: tarfile.TarInfo, path: str) -> tarfile.TarInfo | None:
        return tarfile.data_filter(member, path) if member.isfile() or member.isdir() else None

    with tarfile.open(fileobj=archive) as tar:
        tar.extractall(target, filter=plain)


def _remove(folder: Path) -> None:
    for words in (["chmod", "-R", "u+rwx"], ["rm", "-rf"]):
        subprocess.run([*words, "--", folder], stderr=subprocess.DEVNULL, check=False)
