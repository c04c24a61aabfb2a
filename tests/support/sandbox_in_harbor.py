"""Runs in Harbor's Python: the sandbox environment by itself, told on stdout what came of each case."""

import asyncio
import json
import shlex
import sys
import tempfile
import time
from pathlib import Path

import skilljuror_sandbox
from harbor.models.task.config import EnvironmentConfig, NetworkMode, NetworkPolicy
from harbor.models.trial.paths import TrialPaths
from skilljuror_sandbox import MAX_OUTPUT, SandboxEnvironment

BOMB = """
import os, time
for number in range(2000):
    try:
        if os.fork() == 0:
            time.sleep(1)
            os._exit(0)
    except OSError:
        break
print(number)
"""
place = Path(sys.argv[1])
host = json.loads(sys.argv[2])
told: dict[str, object] = {}


def environment(**more):
    paths = TrialPaths(trial_dir=place / "trial")
    more = {"task": {"root": str(place / "root"), "workdir": "/app"}, "host": host} | more
    return SandboxEnvironment(
        place / "tea" / "environment", "tea", "tea__1__env", paths, EnvironmentConfig(), **more
    )


async def cases(sandbox):
    async def said(command, **more):
        return ((await sandbox.exec(command, **more)).stdout or "").strip()

    told["files"] = await said("cat input.txt; pwd; echo $HOME; test -w /logs/agent && echo ok")
    told["user"] = [await said("id -u"), await said("grep CapEff /proc/self/status | cut -f2")]
    told["etc"] = await said(
        "ls /etc/ssl/certs | head -1 | wc -l; head -c1 /etc/ssl/openssl.cnf | wc -c"
    )
    told["same"] = await said(sys.argv[3])
    told["shown"] = await said("greet")
    talker = (Path(__file__).with_name("talker.py")).read_text(encoding="utf-8")
    for words in ("doors", "find operator"):
        told[words] = json.loads(await said(f"python3 -c {shlex.quote(talker)} {words}"))
    told["hidden"] = await said(f"ls {place}/shown; ls {place}/shown/tests | wc -l")
    told["code"] = (await sandbox.exec("exit 7")).return_code
    told["env"] = await said("echo $PLANTED", env={"PLANTED": "yes"})
    told["host env"] = await said("env | grep -c HARBOR_TEST_SECRET")
    told["host files"] = await said("ls /home /var 2>/dev/null | wc -l")
    told["network"] = await said("ls /sys/class/net 2>/dev/null; grep -c : /proc/net/dev")
    told["write"] = (
        await sandbox.exec("touch /usr/x /bin/x; echo x > /proc/sys/kernel/hostname")
    ).return_code
    told["output"] = len(await said("head -c 9000000 /dev/zero | tr '\\0' x")) < MAX_OUTPUT + 100
    started = time.monotonic()
    try:
        await sandbox.exec("sleep 100", timeout_sec=1)
    except RuntimeError as error:
        told["timeout"] = [str(error), time.monotonic() - started < 10]
    run = asyncio.create_task(sandbox.exec("sleep 4321"))
    await asyncio.sleep(0.5)
    run.cancel()
    told["cancelled"] = isinstance(
        (await asyncio.gather(run, return_exceptions=True))[0], asyncio.CancelledError
    )
    told["sleeper gone"] = await said("pgrep -f 'sleep 432[1]' | wc -l")
    await sandbox.exec("setsid sleep 6789 >/dev/null 2>&1 &")
    told["daemon"] = await said("pgrep -f 'sleep 678[9]' | wc -l")
    told["bomb"] = int(await said(f"python3 -c '{BOMB}'"))


async def transfers(sandbox):
    async def said(command):
        return ((await sandbox.exec(command)).stdout or "").strip()

    (place / "up" / "deep").mkdir(parents=True)
    (place / "up" / "deep" / "a.sh").write_text("echo a\n")
    (place / "up" / "deep" / "a.sh").chmod(0o755)
    await sandbox.exec("mkdir -p /trap && ln -s /trap /tests/link")
    await sandbox.upload_dir(place / "up", "/tests")
    await sandbox.upload_file(place / "up" / "deep" / "a.sh", "/tests/b.sh")
    told["upload"] = await said(
        "/tests/deep/a.sh && bash /tests/b.sh && stat -c %u /tests/deep/a.sh"
    )
    leave = "cd /logs/agent; echo log > log; mkdir d; echo x > d/x; mkfifo f; ln -s /etc/shadow s;"
    leave += "ln -s / r; ln log hard; touch no; chmod 0 no; python3 -c 'import socket;socket.socket(1).bind(\"k\")'"
    await sandbox.exec(leave)
    await sandbox.download_dir("/logs/agent", place / "down")
    told["download"] = sorted(
        str(p.relative_to(place / "down")) for p in (place / "down").rglob("*")
    )
    await sandbox.download_file("/logs/agent/log", place / "one")
    told["one"] = (place / "one").read_text()
    await sandbox.exec("rm -rf --no-preserve-root / 2>/dev/null; true")
    told["alive after rm"] = (await sandbox.exec("true", cwd="/")).return_code


async def hostile_transfers(sandbox):
    """Files that take no time to make, and all there is to read them."""
    (place / "trial").mkdir()
    left_out = place / "trial" / "left-out.json"

    async def out(name, script):
        await sandbox.exec(f"mkdir /logs/{name}; cd /logs/{name}; {script}")
        started = time.monotonic()
        await sandbox.download_dir(f"/logs/{name}", place / name)
        assert time.monotonic() - started < 30
        said = json.loads(left_out.read_text())
        left_out.unlink()
        sandbox.left_out.clear()
        return [sorted(path.name for path in (place / name).rglob("*")), said]

    told["sparse"] = await out("sparse", "echo x > a; truncate -s 3900000000 b c; echo x > d")
    nest = "for _ in range(1800): os.mkdir('folder'); os.chdir('folder')"
    kept, said = await out("deep", f'echo x > a; python3 -c "import os\n{nest}"')
    told["deep"] = [set(kept) == {"a", "folder"}, said[0][-18:], said[-1]]
    skilljuror_sandbox.MAX_FILES = 5
    kept, said = await out("many", "touch $(seq 100 199)")
    told["many"] = [len(kept), len(said), said[0].partition(": ")[2]]
    skilljuror_sandbox.MAX_SECONDS = 0.0
    told["late"] = await out("late", "echo x > a")
    await sandbox.exec("mkfifo /logs/pipe")
    skilljuror_sandbox.MAX_SECONDS = 1.0
    try:
        await sandbox.download_file("/logs/pipe", place / "pipe")
    except RuntimeError as error:
        told["pipe"] = str(error)
    await sandbox.exec("mv /logs/late /logs/moved; ln -s /etc /logs/late; echo x > /logs/moved/b")
    await sandbox.download_dir("/logs/late", place / "link")
    told["link"] = [path.name for path in (place / "link").iterdir()]


async def main():
    early = environment()
    await early.download_dir("/logs/agent", place / "early")
    await early.stop(delete=True)
    told["early"] = (place / "early").exists()
    (place / "shown" / "bin").mkdir(parents=True)
    (place / "shown" / "bin" / "greet").write_text("#!/bin/sh\necho hello\n")
    (place / "shown" / "bin" / "greet").chmod(0o755)
    (place / "shown" / "tests").mkdir()
    (place / "shown" / "tests" / "test.sh").write_text("the answer\n")
    (place / "victim").mkdir()
    (place / "victim" / "hosts").write_text("kept")
    (place / "root" / "etc").mkdir()
    (place / "root" / "etc" / "hosts").symlink_to(place / "victim" / "hosts")
    (place / "root" / "runtime").symlink_to(place / "victim")
    (place / "root" / "logs").symlink_to(place / "victim")
    sandbox = environment(
        show=[str(place / "shown")],
        hide=[str(place / "shown" / "tests"), str(place / "root")],
        path=[str(place / "shown" / "bin")],
    )
    await sandbox.start(force_build=False)
    files = sandbox.place
    await cases(sandbox)
    await hostile_transfers(sandbox)
    await transfers(sandbox)
    await sandbox.stop(delete=True)
    told["victim"] = [(path.name, path.read_text()) for path in (place / "victim").iterdir()]
    told["files gone"] = not files.exists()
    closed = environment(
        network=True, network_policy=NetworkPolicy(network_mode=NetworkMode.NO_NETWORK)
    )
    await closed.start(force_build=False)
    told["closed"] = (await closed.exec("grep -c : /proc/net/dev")).stdout.strip()
    await closed.stop(delete=True)
    broken = environment(task={"root": str(place / "root"), "workdir": "/app"}, show=["/no\0where"])
    try:
        await broken.start(force_build=False)
    except (RuntimeError, ValueError) as error:
        told["broken"] = type(error).__name__
    await broken.stop(delete=True)
    told["left"] = len(list(Path(tempfile.gettempdir()).glob("skilljuror-trial-*")))


asyncio.run(main())
sys.stdout.write(json.dumps(told))
