"""What an agent finds in its HOME, what its prompt says of Skills, and the logs that it leaves there."""

import json
import re
from html import escape
from itertools import islice
from pathlib import Path
from typing import Any

from msgspec import structs

from skilljuror.harnesses.artifacts import copy_logs, plain_folder
from skilljuror.harnesses.inside_harbor.skilljuror_places import own_file
from skilljuror.harnesses.sandbox import HOME
from skilljuror.knowledge.markdown.frontmatter import parse_frontmatter, plain_field
from skilljuror.models.agent import SKILLS, AgentProgram
from skilljuror.models.resource_class import is_root_name

_CANARY = re.compile(r"\s*(?:<!--|#).*canary.*", re.IGNORECASE)
_FIRST_LINES = 20
_LISTING = """
The following Skills are available. Each is a folder of instructions for one kind of work: read its
SKILL.md when the task fits its description.

<available_skills>
{skills}
</available_skills>
"""
_SKILL = """<skill>
<name>{name}</name>
<description>{description}</description>
<location>{location}</location>
</skill>"""


def skills_root(agent: AgentProgram) -> str:
    """The folder of Skills that an agent is given, as its own machine names it."""
    return in_home(agent.skills or SKILLS)


def in_home(path: str) -> str:
    """`~/x` as the agent's machine names it."""
    return HOME + path.removeprefix("~")


def read_instruction(task_dir: Path) -> str:
    """The instruction without canary comments at its top."""
    text = (task_dir / "instruction.md").read_text(encoding="utf-8")
    lines = text.splitlines(keepends=True)
    while lines and _CANARY.fullmatch(lines[0].rstrip("\n")):
        lines.pop(0)
    return "".join(lines)


def skills_listing(variant_dir: Path, root: str) -> str:
    """What the prompt of an agent without Skills of its own says: each Skill's name, description, place."""
    found = [path for path in variant_dir.rglob("*") if is_root_name(path.name)]
    skills = []
    for path in sorted(found, key=lambda path: str(path).encode()):
        fields, _ = parse_frontmatter(path.read_text(encoding="utf-8").splitlines())
        said = {
            "name": plain_field(fields, "name") or path.parent.name,
            "description": plain_field(fields, "description") or "",
            "location": f"{root}/{path.relative_to(variant_dir)}",
        }
        skills.append(_SKILL.format(**{key: escape(text, False) for key, text in said.items()}))
    return _LISTING.format(skills="\n".join(skills))


def write_home_files(root: Path, agent: AgentProgram) -> None:
    """Put an agent's files into its HOME; links that a task left there are not followed."""
    for name, text in agent.home_files.items():
        own_file(root, f"{HOME}/{name}").write_text(text, encoding="utf-8")


def collect_logs(root: Path, agent: AgentProgram, target: Path) -> list[str]:
    """Copy the agent's own logs below `target`, each under the name that it has in HOME without its
    leading dot; the answer names what was left out, and why."""
    left_out = []
    for name in agent.logs:
        folder = plain_folder(root, in_home(name))
        if folder is None:
            left_out.append(f"{name}: no folder")
            continue
        kept = target / name.removeprefix("~/").lstrip(".")
        left_out += [f"{name}/{what}" for what in copy_logs(folder, kept)]
    return left_out


def told_tools(stdout: Path) -> tuple[str, ...] | None:
    """The tools that an agent lists at the start of its output, as Claude Code does; None where it does not."""
    with stdout.open("rb") as lines:
        return next(filter(None, map(_tools, islice(lines, _FIRST_LINES))), None)


def _tools(line: bytes) -> tuple[str, ...] | None:
    try:
        tools = json.loads(line).get("tools")
    except (ValueError, AttributeError):
        return None
    named = isinstance(tools, list) and all(isinstance(tool, str) for tool in tools)
    return tuple(tools) if named else None


def write_agent_record(path: Path, agent: AgentProgram) -> None:
    """How the agent was started: its command with places left open, settings and names of keys."""
    said: dict[str, Any] = structs.asdict(agent)
    said |= {
        "files": [file.name for file in agent.files],
        "shown": [str(one) for one in agent.shown],
    }
    path.write_text(json.dumps(said, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
