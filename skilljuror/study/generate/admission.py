"""Admit a generated bundle: is it valid and within its limit, and how much of it is the source's?"""

import re
from pathlib import Path
from typing import Any

from skilljuror.audit.comparison.unit_matching import knowledge_map
from skilljuror.base.errors import BundleError, StudyError
from skilljuror.base.files import digest_tree, fresh_dir
from skilljuror.base.skill import CONTENT_KINDS, Bundle, is_licence
from skilljuror.base.texts import count
from skilljuror.harness.skill_leaks import leak_verdict
from skilljuror.skill.bundles import write_bundle

_COMPARED = CONTENT_KINDS - {"field"}
"""Kinds of units that are compared; every Skill has a frontmatter."""
_FILE = re.compile(r"(?<![\w/.-])[\w./-]*\w\.[A-Za-z]\w{0,4}(?![\w-])")
"""A name of a file: letters before a dot and a short extension."""
_SHOWN = 3
_INVALID = ("frontmatter-missing", "frontmatter-invalid", "frontmatter-long", "skills-ref", "root-name")  # fmt: skip


def refuse_invalid(bundle: Bundle, tokens: int | None) -> None:
    """Raise BundleError with one reason for a bundle that does not count."""
    folders = [f"{skill.directory}/" for skill in bundle.skills]
    if not folders:
        raise BundleError("no folder has a SKILL.md")
    for path in bundle.files:
        if not path.startswith(tuple(folders)):
            raise BundleError(f"{path!r} is in no folder with a SKILL.md")
    for one in bundle.issues:
        if one.severity == "error" or one.rule in _INVALID:
            raise BundleError(f"{one.file}: {one.message}")
    if tokens and (size := text_tokens(bundle)) > tokens:
        raise BundleError(f"it has {size} tokens, more than the {tokens} allowed")


def text_tokens(bundle: Bundle) -> int:
    """Tokens of all text without licences."""
    files = bundle.files.items()
    return sum(count(blob.text or "") for path, blob in files if not is_licence(path))


def figures(bundle: Bundle, source: Bundle) -> dict[str, Any]:
    """Return tokens of both, units of the Skill that the source has (grounded), and units of the source
    that the Skill has (carried), in the same or similar words."""
    own, theirs = _found(bundle, source), _found(source, bundle)
    return {
        "tree_digest": bundle.digest,
        "skills": tuple(skill.directory for skill in bundle.skills),
        "tokens": text_tokens(bundle),
        "source_tokens": text_tokens(source),
        "units": len(own),
        "grounded": sum(own),
        "source_units": len(theirs),
        "carried": sum(theirs),
    }


def _found(bundle: Bundle, other: Bundle) -> list[bool]:
    rows = knowledge_map(bundle, {"other": other})
    return [
        row.places["other"] is not None
        for row in rows
        if row.unit.kind in _COMPARED and not is_licence(row.unit.file)
    ]


def leak(bundle: Bundle, skills: Path, task: Path | None) -> dict[str, str | None]:
    """Return the verdict on a generated Skill for its task, with the reason. Text or file names of the
    instruction and the environment make it `instance`: it fits this task alone, and a person must look."""
    if task is None:
        return {"leak": None, "leak_reason": "no task"}
    found = leak_verdict(skills, task, generated=True)
    if found.verdict in {"fail", "unknown"} or (found.verdict == "review" and not found.reason):
        at = f" in {found.places[0].skill_file}" if found.places else ""
        reason = found.reason or f"{found.runs} runs of solution and verifier{at}"
        return {"leak": found.verdict, "leak_reason": reason}
    names = {
        *_FILE.findall((task / "instruction.md").read_text(encoding="utf-8", errors="replace"))
    }
    texts = " ".join(blob.text or "" for blob in bundle.files.values())
    named = sorted(names.intersection(_FILE.findall(texts)))
    reasons = [found.reason] if found.reason else []
    reasons += [f"names {', '.join(named[:_SHOWN])} of the instruction"] if named else []
    if not reasons:
        return {"leak": found.verdict, "leak_reason": None}
    return {"leak": "review", "leak_reason": f"instance: {'; '.join(reasons)}"}


def copy(bundle: Bundle, target: Path) -> None:
    """Write a bundle; an equal one stays. Raises StudyError for another one."""
    if not target.exists():
        with fresh_dir(target) as staging:
            write_bundle(bundle.files, staging)
    elif digest_tree(target) != bundle.digest:
        raise StudyError(
            f"{str(target)!r} is not what was generated; move it away and rerun", file=str(target)
        )
