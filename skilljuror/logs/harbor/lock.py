"""Skills of a trial and their digests in Harbor's lock file."""

import hashlib
from collections.abc import Iterable, Mapping
from pathlib import Path

import orjson

from skilljuror.logs.raw_logs.coercion import as_dict, as_list


def locked_skills(trial: Path) -> dict[str, str] | None:
    """Skill -> digest from a trial's lock; None without a readable lock."""
    try:
        lock = as_dict(orjson.loads((trial / "lock.json").read_bytes()))
    except (OSError, orjson.JSONDecodeError):
        return None
    skills = map(as_dict, as_list(lock.get("skills")))
    return {str(one.get("name")): str(one.get("digest")) for one in skills}


def skill_digest(files: Iterable[tuple[str, str]]) -> str:
    """Digest of a Skill's folder as in Harbor's lock: sha256 over (path, sha256) of its files, in
    order of the paths, ignoring execute bits."""
    digest = hashlib.sha256()
    for path, content in sorted(files):
        digest.update(f"{path}\0{content}\0".encode())
    return f"sha256:{digest.hexdigest()}"


def describe_skills(skills: Mapping[str, str]) -> str:
    """Skills with the start of their digests, for a message."""
    return ", ".join(f"{name} {digest[7:19]}" for name, digest in sorted(skills.items())) or "none"
