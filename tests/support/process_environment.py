"""An environment of Harbor without an engine, for tests: every command is a process over a folder of the trial's own,
which bubblewrap shows at the places of a container. It runs in Harbor's Python, and is no sandbox."""

import asyncio
import contextlib
import os
import shutil
import signal
import tempfile
from pathlib import Path
from typing import Any

from harbor.environments.base import BaseEnvironment, ExecResult
from harbor.environments.capabilities import EnvironmentCapabilities

FOLDERS = (
    "/agent", "/app", "/harbor", "/installed-agent", "/logs/agent", "/logs/artifacts", "/logs/verifier", "/root",
    "/runtime", "/solution", "/tests", "/tmp",
)  # fmt: skip
SYSTEM = ("/usr", "/bin", "/lib", "/lib64", "/etc")


class ProcessEnvironment(BaseEnvironment):
    """The environment of one trial; `show` are folders of this machine that it sees, `path` is put before PATH."""

    def __init__(
        self, *args: Any, show: tuple[str, ...] = (), path: str = "", **kwargs: Any
    ) -> None:
        self.show, self.path = show, path
        self.root: Path | None = None
        super().__init__(*args, **kwargs)

    @staticmethod
    def type() -> str:
        return "processes"

    @property
    def capabilities(self) -> EnvironmentCapabilities:
        return EnvironmentCapabilities(mounted=False)

    def _validate_definition(self) -> None:
        """Nothing to check: no image is built."""

    def host(self, guest: str) -> Path:
        assert self.root is not None
        return self.root / str(guest).lstrip("/")

    async def start(self, force_build: bool) -> None:
        self.root = Path(tempfile.mkdtemp(prefix="processes-"))
        for folder in FOLDERS:
            self.host(folder).mkdir(parents=True, exist_ok=True)
        ours = shutil.ignore_patterns("Dockerfile", "docker-compose.*")
        shutil.copytree(self.environment_dir, self.host("/app"), ignore=ours, dirs_exist_ok=True)

    async def stop(self, delete: bool) -> None:
        if self.root is not None:
            shutil.rmtree(self.root, ignore_errors=True)

    async def upload_file(self, source_path: Path | str, target_path: str) -> None:
        self.host(target_path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(source_path, self.host(target_path))

    async def upload_dir(self, source_dir: Path | str, target_dir: str) -> None:
        shutil.copytree(source_dir, self.host(target_dir), dirs_exist_ok=True)

    async def download_file(self, source_path: str, target_path: Path | str) -> None:
        if self.root is not None:  # Harbor asks for logs after a failed start as well
            shutil.copy(self.host(source_path), target_path)

    async def download_dir(self, source_dir: str, target_dir: Path | str) -> None:
        if self.root is not None:
            shutil.copytree(self.host(source_dir), target_dir, dirs_exist_ok=True)

    async def exec(
        self,
        command: str,
        cwd: str | None = None,
        env: dict[str, str] | None = None,
        timeout_sec: int | None = None,
        user: str | int | None = None,
    ) -> ExecResult:
        words = ["bwrap", "--die-with-parent", "--unshare-pid", "--bind", str(self.root), "/"]
        for place in (*SYSTEM, *self.show):
            words += ["--ro-bind", place, place]
        words += ["--proc", "/proc", "--dev", "/dev", "--chdir", cwd or "/app"]
        path = f"{self.path}:/usr/local/bin:/usr/bin:/bin".lstrip(":")
        places = {"APP_DIR": "/app", "LOGS_DIR": "/logs", "TESTS_DIR": "/tests"}
        starting = asyncio.ensure_future(asyncio.create_subprocess_exec(
            *words, "--", "bash", "-c", command,
            env={"PATH": path, "HOME": "/root", "TMPDIR": "/tmp", **places, **(self._merge_env(env) or {})},
            stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE, start_new_session=True,
        ))  # fmt: skip
        try:
            # A start that is cancelled halfway leaves a bwrap that outlives its parent.
            process = await asyncio.shield(starting)
            out, err = await asyncio.wait_for(process.communicate(), timeout_sec)
        except TimeoutError as error:
            raise RuntimeError(f"Command timed out after {timeout_sec} seconds") from error
        finally:
            process = await starting
            if process.returncode is None:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                await process.wait()
        return ExecResult(
            stdout=out.decode(errors="replace"), stderr=err.decode(errors="replace"),
            return_code=process.returncode,
        )  # fmt: skip
