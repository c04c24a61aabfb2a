"""An environment of Harbor in bubblewrap: real /app /logs /tests /root, and no Docker.

One process holds the namespaces of a trial; every command enters them, and when the holder dies
nothing in them lives on. Files go in and out through `tar` inside, so that no link that an agent
left is ever followed on the host. What a task's Dockerfile puts in place was put into a folder
before (`tasks`): nothing is built here.
"""

import asyncio
import contextlib
import itertools
import json
import os
import shutil
import signal
import subprocess
import tarfile
import tempfile
from pathlib import Path
from typing import IO, Any

from harbor.environments.base import BaseEnvironment, ExecResult
from harbor.environments.capabilities import EnvironmentCapabilities
from skilljuror_places import own_file, own_folder

FOLDERS = (
    "/app", "/etc", "/harbor", "/installed-agent", "/logs/agent", "/logs/artifacts",
    "/logs/verifier", "/root", "/runtime", "/solution", "/tests", "/tmp",
)  # fmt: skip
LIMITS = ("--nproc=512", "--fsize=4000000000", "--core=0")
"""Processes of a trial, bytes of a file."""
MAX_OUTPUT = 4_000_000
"""Bytes kept of each of stdout and stderr."""
_numbers = itertools.count(os.getpid())


class SandboxEnvironment(BaseEnvironment):
    """The machine of one trial."""

    def __init__(
        self,
        *args: Any,
        tasks: dict[str, dict[str, str]],
        host: dict[str, Any],
        network: bool = False,
        show: list[str] | None = None,
        hide: list[str] | None = None,
        path: list[str] | None = None,
        **kwargs: Any,
    ) -> None:
        """`tasks` maps folder names of tasks to `root` (files to begin with) and `workdir`; `host` is
        what every sandbox takes from the host (`host_parts` of our own); `show` are further folders of
        the host to be seen, `hide` folders that are found empty though one of these holds them, `path`
        goes before the usual PATH."""
        self.tasks, self.network, self.host = tasks, network, host
        self.show, self.path = [*host["show"], *(show or [])], [*(path or []), host["path"]]
        self.hide = hide or []
        first, users = host["users"]
        self.user = first + next(_numbers) % users
        self.place: Path | None = None
        self.holder: subprocess.Popen[bytes] | None = None
        self.first = 0
        super().__init__(*args, **kwargs)

    @staticmethod
    def type() -> str:
        """What Harbor calls it."""
        return "bwrap"

    @property
    def capabilities(self) -> EnvironmentCapabilities:
        """Logs are fetched, and there may be no network."""
        return EnvironmentCapabilities(mounted=False, disable_internet=True)

    def _validate_definition(self) -> None:
        """Nothing of it is needed."""

    @property
    def task(self) -> dict[str, str]:
        """Root and working directory of the task."""
        return self.tasks[self.environment_dir.resolve().parent.name]

    @property
    def workdir(self) -> str:
        """Where commands start."""
        return self.task_env_config.workdir or self.task["workdir"]

    async def start(self, force_build: bool) -> None:
        """Lay out the files and start the process that holds the namespaces."""
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
        """End every process of the trial and remove its files."""
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
        """Run a shell command; `user` is always the same, who owns all files."""
        words = ("bash", "-c", 'cd "$0" && exec bash -c "$1"', cwd or self.workdir, command)
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            code = await self._run(words, self._env(env), (None, out, err), timeout_sec)
            result = ExecResult(stdout=_text(out), stderr=_text(err), return_code=code)
        if callback := self._output_callback():
            await callback(result.stdout or "", "stdout")
            await callback(result.stderr or "", "stderr")
        return result

    async def upload_file(self, source_path: Path | str, target_path: str) -> None:
        """Copy a file of the host in."""
        folder, _, name = str(target_path).rpartition("/")
        await self._unpack({name: Path(source_path)}, folder or "/")

    async def upload_dir(self, source_dir: Path | str, target_dir: str) -> None:
        """Copy what a folder of the host holds into a folder."""
        entries = {path.name: path for path in sorted(Path(source_dir).iterdir())}
        await self._unpack(entries, str(target_dir))

    async def download_file(self, source_path: str, target_path: Path | str) -> None:
        """Copy a file out."""
        target = Path(target_path)
        target.parent.mkdir(parents=True, exist_ok=True)
        with target.open("wb") as file:
            await self._demand(("cat", "--", str(source_path)), (None, file), (0,))

    async def download_dir(self, source_dir: str, target_dir: Path | str) -> None:
        """Copy the plain files of a folder out; links, pipes and what cannot be read are left out."""
        if self.holder is None:  # Harbor asks for logs after a failed start as well
            return
        words = ("tar", "-cf", "-", "--hard-dereference", "--ignore-failed-read", "-C")
        with tempfile.TemporaryFile() as archive:
            await self._demand((*words, str(source_dir), "."), (None, archive), (0, 1))
            archive.seek(0)
            await asyncio.to_thread(_extract, archive, Path(target_dir))

    async def _unpack(self, entries: dict[str, Path], folder: str) -> None:
        with tempfile.TemporaryFile() as archive, tempfile.TemporaryFile() as out:
            await asyncio.to_thread(_pack, archive, entries)
            archive.seek(0)
            words = ("bash", "-c", 'mkdir -p "$0" && exec tar -xf - -C "$0"', folder)
            await self._demand(words, (archive, out), (0,))

    async def _demand(
        self, words: tuple[str, ...], files: tuple[Any, Any], good: tuple[int, ...]
    ) -> None:
        """Run a command of our own that has to end well."""
        with tempfile.TemporaryFile() as err:
            code = await self._run(words, self._env(None), (*files, err), None)
            if code not in good:
                raise RuntimeError(f"{words[0]} ended with {code} in the sandbox: {_text(err)}")

    async def _run(
        self,
        words: tuple[str, ...],
        env: dict[str, str],
        files: tuple[Any, Any, Any],
        timeout: float | None,
    ) -> int:
        """Run a command in the namespaces; its whole group dies with a timeout or cancellation."""
        if self.holder is None:
            raise RuntimeError("the sandbox is not running")
        process = await asyncio.create_subprocess_exec(
            *self._enter(), *words, env=env, start_new_session=True,
            stdin=files[0] or subprocess.DEVNULL, stdout=files[1], stderr=files[2],
        )  # fmt: skip
        try:
            return await asyncio.wait_for(process.wait(), timeout)
        except TimeoutError as error:
            raise RuntimeError(f"Command timed out after {timeout} seconds") from error
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
            **(self._merge_env(env) or {}),
        }

    @property
    def _online(self) -> bool:
        return self.network and not self._network_disabled

    def _hold(self) -> None:
        """Start the process that holds the namespaces; without a wait, in which it could be lost."""
        reading, writing = os.pipe()
        with os.fdopen(reading, encoding="utf-8") as status:
            try:
                words = [*self._bwrap(writing), "sh", "-c", "echo ready; exec sleep infinity"]
                self.holder = subprocess.Popen(
                    words, env=self._env(None), start_new_session=True, pass_fds=(writing,),
                    stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                )  # fmt: skip
            finally:
                os.close(writing)
            if line := status.readline():
                self.first = int(json.loads(line)["child-pid"])

    def _lay_out(self, root: Path) -> None:
        shutil.copytree(self.task["root"], root, symlinks=True)
        shown = filter(Path.exists, map(Path, (*self.show, *self.host["host_etc"])))
        above = [str(path.parent) for path in shown]  # else they are root's alone
        for guest in (*FOLDERS, self.workdir, *above):
            own_folder(root, guest)
        for name, text in self.host["etc"].items():
            own_file(root, f"/etc/{name}").write_text(text.format(user=self.user), encoding="utf-8")
        if self._online:
            shutil.copyfile("/etc/resolv.conf", own_file(root, "/etc/resolv.conf"))
        if _is_root():
            subprocess.run(["chown", "-R", f"{self.user}:{self.user}", root], check=True)

    def _bwrap(self, status: int) -> list[str]:
        """The program with namespaces of its own, over the files of the trial."""
        assert self.place is not None
        words = ["bwrap", "--die-with-parent", "--json-status-fd", str(status), "--hostname"]
        words += ["sandbox", "--unshare-pid", "--unshare-ipc", "--unshare-uts"]
        words += ["--unshare-cgroup-try", "--bind", str(self.place / "root"), "/"]
        words += [] if self._online else ["--unshare-net"]
        for folder in self.show:
            words += ["--ro-bind-try", folder, folder]
        for folder in self.hide:
            if any(Path(folder).is_relative_to(place) for place in self.show):
                words += ["--tmpfs", folder, "--remount-ro", folder]
        for path in self.host["host_etc"]:
            words += ["--ro-bind-try", path, path]
        words += ["--proc", "/proc", "--ro-bind-try", "/proc/sys", "/proc/sys", "--dev", "/dev"]
        words += ["--perms", "1777", "--size", "64000000", "--tmpfs", "/dev/shm"]
        if not _is_root():
            words += ["--unshare-user", "--uid", str(self.user), "--gid", str(self.user)]
        return [*words, "--chdir", "/", "--"]

    def _enter(self) -> list[str]:
        """What goes before a command: into the namespaces, under limits, without any privilege."""
        words = ["nsenter", "--target", str(self.first), "--all"]
        words += ["--", "prlimit", *LIMITS, "--", "setpriv", "--no-new-privs"]
        words += ["--bounding-set=-all", "--inh-caps=-all"]
        if _is_root():
            words += ["--reuid", str(self.user), "--regid", str(self.user), "--clear-groups"]
        else:
            words.insert(1, "--preserve-credentials")
        return [*words, "--"]


def _is_root() -> bool:
    return os.geteuid() == 0


def _kill_group(process: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process, signal.SIGKILL)


def _text(file: IO[bytes]) -> str:
    """The first part of what was written, and how much more there was."""
    size = file.seek(0, os.SEEK_END)
    file.seek(0)
    text = file.read(MAX_OUTPUT).decode(errors="replace")
    return text if size <= MAX_OUTPUT else f"{text}\n[cut here: {size - MAX_OUTPUT} more bytes]\n"


def _pack(archive: IO[bytes], entries: dict[str, Path]) -> None:
    with tarfile.open(fileobj=archive, mode="w") as tar:
        for name, path in entries.items():
            tar.add(path, arcname=name)


def _extract(archive: IO[bytes], target: Path) -> None:
    def plain(member: tarfile.TarInfo, path: str) -> tarfile.TarInfo | None:
        return tarfile.data_filter(member, path) if member.isfile() or member.isdir() else None

    target.mkdir(parents=True, exist_ok=True)
    with tarfile.open(fileobj=archive) as tar:
        tar.extractall(target, filter=plain)


def _remove(folder: Path) -> None:
    for words in (["chmod", "-R", "u+rwx"], ["rm", "-rf"]):
        subprocess.run([*words, "--", folder], stderr=subprocess.DEVNULL, check=False)
