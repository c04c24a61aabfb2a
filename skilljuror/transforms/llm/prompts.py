"""The packaged transformation Skills, read as prompts."""

from dataclasses import dataclass
from functools import lru_cache

from skilljuror.errors import UsageError
from skilljuror.files import data_dir, digest_tree


@dataclass(frozen=True, slots=True)
class Prompt:
    """A transformation Skill as a model gets it."""

    name: str
    """Name of the Skill."""
    text: str
    """All of its text: the root first, then its references in path order."""
    sha256: str
    """Tree digest of the Skill's folder, so that a result names the exact prompt."""


@lru_cache(maxsize=8)
def load_prompt(name: str) -> Prompt:
    """A packaged Skill. Raises UsageError, with the choices, for a name that is none.

    A model without tools cannot open files, so it gets the references too.
    """
    folder = data_dir("transforms") / name
    root = folder / "SKILL.md"
    if "/" in name or not root.is_file():
        known = sorted(path.parent.name for path in data_dir("transforms").glob("*/SKILL.md"))
        raise UsageError(f"no transformation Skill {name!r}; choose one of {', '.join(known)}")
    files = [root, *sorted(folder.glob("references/*.md"))]
    parts = [
        f"=== {path.relative_to(folder).as_posix()} ===\n\n{path.read_text(encoding='utf-8')}"
        for path in files
    ]
    return Prompt(name, "\n".join(parts), digest_tree(folder))
