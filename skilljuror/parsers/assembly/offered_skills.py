"""The list of skills inside a prompt, as Harbor and Gemini CLI write it."""

import re

from skilljuror.models.trajectory import OfferedSkill
from skilljuror.parsers.assembly.builders import TrajectoryBuilder

_BLOCK = re.compile(r"<available_skills>(.*?)</available_skills>", re.DOTALL)
_NAME = re.compile(r"<name>([^<\n]*)</name>")
_PLACE = re.compile(r"<location>([^<\n]*)</location>")


def add_available_skills(run: TrajectoryBuilder, text: str) -> bool:
    """Offer the skills of an `<available_skills>` block; False when the text has none."""
    block = _BLOCK.search(text)
    if block is None:
        return False
    skills = []
    for entry in block[1].split("<skill>")[1:]:
        name, place = _NAME.search(entry), _PLACE.search(entry)
        if name is None:
            continue
        path = place[1].strip() if place else None
        skills.append(OfferedSkill(name[1].strip(), path=path, bundled="/builtin/" in (path or "")))
        if path:
            run.add_skill_root(path.removesuffix("/SKILL.md").rpartition("/")[0])
    run.add_offered(skills)
    return True
