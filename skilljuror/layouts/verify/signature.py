"""Sign a build's record and check its signature with `ssh-keygen -Y`."""

import subprocess
from pathlib import Path

from skilljuror.base.errors import MissingDependency, UsageError
from skilljuror.base.files import write_atomic
from skilljuror.layouts.build.folder import RECORD, SIGNATURE

NAMESPACE = "skilljuror"  # namespace of the signature; signatures of other namespaces are ignored


def sign(build: Path, key: Path) -> Path:
    """Sign the record; return the path of the signature.

    Raises UsageError for an unusable key, MissingDependency without ssh-keygen.
    """
    if not key.is_file():
        raise UsageError(f"key {str(key)!r} not found; name a private SSH key", field="sign")
    done = _ssh_keygen(build, "sign", "-f", str(key))
    if done.returncode:
        why = " ".join(done.stderr.decode(errors="replace").split()) or "ssh-keygen gives no reason"
        raise UsageError(
            f"{str(key)!r} cannot sign: {why}; name a private SSH key, or the public"
            " part of a key in ssh-agent",
            field="sign",
        )
    write_atomic(build / SIGNATURE, done.stdout)
    return build / SIGNATURE


def signer(build: Path, allowed: Path) -> str | None:
    """Return the allowed signer of the current record, or None.

    `allowed` is a file in the format ALLOWED SIGNERS of ssh-keygen(1). Raises UsageError if it is
    missing, MissingDependency without ssh-keygen.
    """
    if not allowed.is_file():
        raise UsageError(
            f"allowed signers file {str(allowed)!r} not found; create it with lines such"
            " as 'ada@example.org ssh-ed25519 AAAA…'",
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
            "signatures require ssh-keygen; install OpenSSH, or verify without --allowed-signers"
        ) from error
