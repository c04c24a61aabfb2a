"""Signatures of a build's record, made and checked by `ssh-keygen -Y`."""

import subprocess
from pathlib import Path

from skilljuror.errors import MissingDependency, UsageError
from skilljuror.files import write_atomic
from skilljuror.pipeline.construction.build_folder import RECORD, SIGNATURE

NAMESPACE = "skilljuror"
"""What the signature is for: one of another namespace does not count."""


def sign(build: Path, key: Path) -> Path:
    """Write the signature of the record beside it; its path.

    Raises UsageError for a key that cannot sign, MissingDependency without ssh-keygen.
    """
    if not key.is_file():
        raise UsageError(f"there is no key at {str(key)!r}; name a private SSH key", field="sign")
    done = _ssh_keygen(build, "sign", "-f", str(key))
    if done.returncode:
        raise UsageError(
            f"{str(key)!r} cannot sign: {_said(done)}; name a private SSH key, or the public one of"
            " a key that ssh-agent holds",
            field="sign",
        )
    write_atomic(build / SIGNATURE, done.stdout)
    return build / SIGNATURE


def signer(build: Path, allowed: Path) -> str | None:
    """Who of the allowed signers signed the record as it stands; None where nobody did.

    `allowed` is a file as `ssh-keygen` has it (ALLOWED SIGNERS in its manual). Raises UsageError
    for no such file, MissingDependency without ssh-keygen.
    """
    if not allowed.is_file():
        raise UsageError(
            f"there is no file of signers at {str(allowed)!r}; write lines such as"
            " 'ada@example.org ssh-ed25519 AAAA…'",
            field="allowed-signers",
        )
    if not (build / SIGNATURE).is_file():
        return None
    given = ("-f", str(allowed), "-s", str(build / SIGNATURE))
    found = _ssh_keygen(build, "find-principals", *given)
    for name in found.stdout.decode(errors="replace").splitlines() if not found.returncode else ():
        if _ssh_keygen(build, "verify", "-I", name, *given).returncode == 0:
            return name
    return None


def _ssh_keygen(build: Path, what: str, *words: str) -> subprocess.CompletedProcess[bytes]:
    command = ["ssh-keygen", "-Y", what, "-n", NAMESPACE, *words]
    try:
        return subprocess.run(
            command, input=(build / RECORD).read_bytes(), capture_output=True, check=False
        )
    except FileNotFoundError as error:
        raise MissingDependency(
            "signatures need ssh-keygen, which is not installed; install OpenSSH, or verify without"
        ) from error


def _said(done: subprocess.CompletedProcess[bytes]) -> str:
    return " ".join(done.stderr.decode(errors="replace").split()) or "ssh-keygen gives no reason"
