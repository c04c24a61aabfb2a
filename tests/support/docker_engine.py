"""Start a Docker engine for the tests if none answers, with stand-ins for base images that cannot be pulled.

    python -m tests.support.docker_engine start DIR [IMAGE:TAG ...]
    python -m tests.support.docker_engine stop DIR

`start` prints how to reach the engine: the one of this machine, or a new one under DIR (Debian, root). If neither
is possible it says why and ends with 3. In the new engine, images that cannot be pulled are made of this
machine's Debian and labelled `standin`: a Dockerfile that builds on them proves nothing about the real ones.
"""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

PACKAGES = ("docker.io", "iptables", "debootstrap", "ca-certificates", "iproute2")
RELEASE = "bookworm"
COMPOSE_RELEASE = "trixie"
"""Its compose is of version 2, which Harbor needs; that of bookworm is not."""
CERTIFICATES = "/etc/ssl/certs/ca-certificates.crt"
TRUSTED = (
    "SSL_CERT_FILE",
    "CURL_CA_BUNDLE",
    "REQUESTS_CA_BUNDLE",
    "PIP_CERT",
    "NODE_EXTRA_CA_CERTS",
)
PYTHON = """FROM standin/debian
RUN apt-get update -qq && apt-get install -y -qq --no-install-recommends python3 python3-pip python3-venv \\
 && rm -f /usr/lib/python3*/EXTERNALLY-MANAGED && for name in python python3 pip pip3; do \\
    ln -s /usr/bin/${name%3}3 /usr/local/bin/$name; done
LABEL standin="Debian bookworm with its python3, whatever the tag says"
CMD ["python3"]
"""
UBUNTU = """FROM standin/python
RUN apt-get install -y -qq --no-install-recommends procps curl \\
 && rm /usr/local/bin/python* /usr/local/bin/pip* \\
 && pip3 install -q --break-system-packages --no-cache-dir uv && touch /usr/lib/python3.11/EXTERNALLY-MANAGED \\
 && mkdir -p /root/.local/bin && echo 'export PATH="$HOME/.local/bin:$PATH"' > /root/.local/bin/env
ENV UV_PYTHON_DOWNLOADS=never
LABEL standin="Debian bookworm with python3 and uv, under the name of Ubuntu"
CMD ["bash"]
"""
STAND_INS = {"python": PYTHON, "ubuntu": UBUNTU}
"""Name of a base image -> how its stand-in is built; that of debian is imported."""


class NotHere(Exception):
    """This machine cannot have an engine or an image."""


def run(*words: str, text: str | None = None, **env: str) -> str:
    """Return what a program prints. Raises NotHere with its last line if it fails."""
    done = subprocess.run(
        words, input=text, capture_output=True, text=True, check=False, env={**os.environ, **env}
    )
    if done.returncode:
        last = (done.stderr.strip() or done.stdout.strip() or "no output").splitlines()[-1]
        raise NotHere(f"{' '.join(words[:3])} failed: {last}")
    return done.stdout


def works(*words: str) -> bool:
    """Whether a program ends well."""
    try:
        run(*words)
    except (NotHere, FileNotFoundError):
        return False
    return True


def answers() -> bool:
    """Whether an engine answers `docker`."""
    try:
        return not json.loads(run("docker", "info", "--format", "{{json .}}")).get("ServerErrors")
    except (NotHere, FileNotFoundError, ValueError):
        return False


def start(folder: Path, images: list[str]) -> str:
    """Bring an engine up and make the images; return its address."""
    if not answers():
        os.environ["DOCKER_HOST"] = f"unix://{folder}/docker.sock"
    if not answers():
        if os.geteuid() or not shutil.which("apt-get"):
            raise NotHere("no Docker engine answers, and one is installed for root on Debian alone")
        quiet = {"DEBIAN_FRONTEND": "noninteractive", "RUNLEVEL": "1"}  # start no service
        run("apt-get", "update", "-qq")
        run("apt-get", "install", "-y", "-qq", "--no-install-recommends", *PACKAGES, **quiet)
        _compose(folder)
        _daemon(folder)
    own = (folder / "pid").exists()
    for image in images:
        if not works("docker", "image", "inspect", image):
            _image(folder, image, own=own)
    return os.environ.get("DOCKER_HOST", "")


def stop(folder: Path) -> None:
    """End the engine of a folder and remove it."""
    pid = folder / "pid"
    if pid.exists():
        process = int(pid.read_text(encoding="utf-8"))
        with contextlib.suppress(ProcessLookupError):
            os.kill(process, signal.SIGTERM)
        while Path(f"/proc/{process}").exists():
            time.sleep(0.2)
    lines = Path("/proc/mounts").read_text(encoding="utf-8").splitlines()
    mounts = (line.split()[1] for line in lines)
    for mount in sorted((one for one in mounts if one.startswith(f"{folder}/")), reverse=True):
        run("umount", mount)
    shutil.rmtree(folder, ignore_errors=True)


def _mirror() -> str:
    """Address of the Debian archive that this machine's apt uses."""
    wanted = "$(REPO_URI)|$(CODENAME)|$(COMPONENT)"
    told = run("apt-get", "indextargets", "--format", wanted, "Created-By: Packages")
    for line in told.splitlines():
        address, release, part = line.split("|")
        if (release, part) == (RELEASE, "main"):
            return address.rstrip("/")
    raise NotHere(f"apt names no archive of Debian {RELEASE}")


def _compose(folder: Path) -> None:
    """Install version 2 of compose as a plugin of this user, without touching apt's own state."""
    if works("docker", "compose", "version"):
        return
    place = folder / "compose"
    for name in ("lists/partial", "cache/archives/partial", "files"):
        (place / name).mkdir(parents=True, exist_ok=True)
    signed = "[signed-by=/usr/share/keyrings/debian-archive-keyring.gpg]"
    (place / "sources.list").write_text(
        f"deb {signed} {_mirror()} {COMPOSE_RELEASE} main\n", encoding="utf-8"
    )
    options = {
        "Dir::Etc::SourceList": place / "sources.list", "Dir::Etc::SourceParts": "/dev/null",
        "Dir::State::Lists": place / "lists", "Dir::Cache": place / "cache",
        "APT::Sandbox::User": "root", "APT::Get::List-Cleanup": 0,
    }  # fmt: skip
    words = [word for name, value in options.items() for word in ("-o", f"{name}={value}")]
    run("apt-get", *words, "update", "-qq")
    address = run("apt-get", *words, "--print-uris", "download", "docker-compose").split("'")[1]
    package = place / "compose.deb"
    run("curl", "-fsSL", "-o", str(package), address)
    run("dpkg-deb", "-x", str(package), str(place / "files"))
    program = max(place.rglob("docker-compose"), key=lambda path: path.stat().st_size)
    plugins = Path.home() / ".docker" / "cli-plugins"
    plugins.mkdir(parents=True, exist_ok=True)
    shutil.copy(program, plugins / "docker-compose")


def _daemon(folder: Path) -> None:
    """Start dockerd with all that it holds below the folder."""
    path = os.environ["PATH"]
    if not works("iptables", "-t", "nat", "-L"):
        (folder / "bin").mkdir(exist_ok=True)  # a kernel without nf_tables
        for name in ("iptables", "ip6tables"):
            (folder / "bin" / name).unlink(missing_ok=True)
            (folder / "bin" / name).symlink_to(f"/usr/sbin/{name}-legacy")
        path = f"{folder}/bin:{path}"
    words = [
        "dockerd", "--data-root", f"{folder}/data", "--exec-root", f"{folder}/exec",
        "-H", os.environ["DOCKER_HOST"], "--pidfile", f"{folder}/pid", "--log-level", "warn",
        "--default-address-pool", "base=10.213.0.0/17,size=24",
    ]  # fmt: skip
    with (folder / "dockerd.log").open("ab") as log:
        subprocess.Popen(
            words, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True,
            env={**os.environ, "PATH": path},
        )  # fmt: skip
    for _ in range(100):
        if answers():
            return
        time.sleep(0.3)
    said = (folder / "dockerd.log").read_text(encoding="utf-8").splitlines()
    raise NotHere(f"dockerd does not answer: {said[-1] if said else 'no output'}")


def _image(folder: Path, image: str, *, own: bool) -> None:
    """Pull an image, or in an engine of our `own` make its stand-in."""
    if works("timeout", "20", "docker", "pull", "-q", image):
        return
    name = image.rpartition("/")[2].partition(":")[0]
    if not own or name not in {"debian", *STAND_INS}:
        raise NotHere(f"{image} cannot be pulled, and nothing may stand in for it")
    _stand_in(folder, name)
    run("docker", "tag", f"standin/{name}", image)


def _stand_in(folder: Path, name: str) -> None:
    if works("docker", "image", "inspect", f"standin/{name}"):
        return
    if name == "debian":
        _debian(folder / "rootfs")
        return
    _stand_in(folder, "debian" if name == "python" else "python")
    run("docker", "build", "-q", "-t", f"standin/{name}", "-", text=STAND_INS[name])


def _debian(root: Path) -> None:
    """Import this machine's Debian, with the certificates that it trusts."""
    shutil.rmtree(root, ignore_errors=True)
    chosen = ("--variant=minbase", "--include=ca-certificates")
    run("debootstrap", *chosen, RELEASE, str(root), _mirror())
    own = Path("/usr/local/share/ca-certificates")
    if any(own.glob("*.crt")):
        shutil.copytree(own, root / str(own)[1:], dirs_exist_ok=True)
        run("chroot", str(root), "update-ca-certificates")
    changes = [f"ENV {' '.join(f'{name}={CERTIFICATES}' for name in TRUSTED)}", 'CMD ["bash"]']
    changes.append(f'LABEL standin="Debian {RELEASE} by debootstrap"')
    words = " ".join(f"-c '{change}'" for change in changes)
    imported = f"docker import {words} - standin/debian"
    run("bash", "-c", f"tar -C {root} --one-file-system -c . | {imported}")
    shutil.rmtree(root)


def main(words: list[str]) -> int:
    """Run one command."""
    verb, folder = words[0], Path(words[1]).absolute()
    if verb == "stop":
        stop(folder)
        return 0
    folder.mkdir(parents=True, exist_ok=True)
    try:
        sys.stdout.write(f"export DOCKER_HOST={start(folder, words[2:])}\n")
    except NotHere as error:
        sys.stderr.write(f"not run: the Docker tier ({error})\n")
        return 3
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
