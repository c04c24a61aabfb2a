"""The packaged transformation Skills, read as prompts, and what is wrong with an answer."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from skilljuror.base.errors import UsageError
from skilljuror.base.files import data_dir, digest_tree


@dataclass(frozen=True, slots=True)
class Prompt:
    """A transformation Skill as sent to a model."""

    name: str
    text: str  # the root, then the references in path order
    sha256: str  # tree digest of the Skill's folder, which identifies the exact prompt


@lru_cache(maxsize=8)
def load_prompt(name: str) -> Prompt:
    """Load a packaged Skill, with its references, since a model without tools cannot open files.

    Raises UsageError for an unknown name.
    """
    folder = data_dir("transforms") / name
    root = folder / "SKILL.md"
    if "/" in name or not root.is_file():
        known = sorted(path.parent.name for path in data_dir("transforms").glob("*/SKILL.md"))
        raise UsageError(f"unknown transformation Skill {name!r}; choose one of {', '.join(known)}")
    files = [root, *sorted(folder.glob("references/*.md"))]
    parts = [
        f"=== {path.relative_to(folder).as_posix()} ===\n\n{path.read_text(encoding='utf-8')}"
        for path in files
    ]
    return Prompt(name, "\n".join(parts), digest_tree(folder))


SHOWN = 6  # maximum number of problems reported at once


def joined_problems(problems: Sequence[str]) -> str:
    """Return the first problems of an answer as one message to the model; "" without problems."""
    more = f"; and {len(problems) - SHOWN} more" if len(problems) > SHOWN else ""
    return "; ".join(problems[:SHOWN]) + more
