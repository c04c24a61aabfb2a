"""What Harbor locked for a trial: its Skills, by digest."""

import hashlib
from collections.abc import Iterable, Mapping
from pathlib import Path

import orjson

from skilljuror.parsers.raw_logs.coercion import as_dict, as_list


def locked_skills(trial: Path) -> dict[str, str] | None:
    """Skill -> digest, by the lock of a trial; None without a lock that can be read."""
    try:
        lock = as_dict(orjson.loads((trial / "lock.json").read_bytes()))
    except (OSError, orjson.JSONDecodeError):
        return None
    skills = map(as_dict, as_list(lock.get("skills")))
    return {str(one.get("name")): str(one.get("digest")) for one in skills}


def skill_digest(files: Iterable[tuple[str, str]]) -> str:
    """The digest of a skill's folder as Harbor locks it: sha256 over the (path, sha256) of its files,
    in the order of the paths; execute bits do not count."""
    digest = hashlib.sha256()
    for path, content in sorted(files):
        digest.update(f"{path}\0{content}\0".encode())
    return f"sha256:{digest.hexdigest()}"


def told(skills: Mapping[str, str]) -> str:
    """Skills and the beginning of their digests, for a message."""
    return ", ".join(f"{name} {digest[7:19]}" for name, digest in sorted(skills.items())) or "none"
