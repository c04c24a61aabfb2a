"""An agent's HOME: its files, Skills, prompt and logs."""

import json
import re
from html import escape
from itertools import islice
from pathlib import Path
from typing import Any

from msgspec import structs

from skilljuror.base.skill import is_root_name
from skilljuror.base.study import SKILLS, AgentProgram
from skilljuror.harness.artifacts import Reading, copy_logs, plain_folder
from skilljuror.harness.inside_harbor.skilljuror_bwrap import own_file
from skilljuror.harness.sandbox import HOME
from skilljuror.skill.markdown.frontmatter import parse_frontmatter, plain_field

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
    """Return the agent's Skills folder in the sandbox."""
    return in_home(agent.skills or SKILLS)


def in_home(path: str) -> str:
    """Expand `~/x` to the sandbox's HOME."""
    return HOME + path.removeprefix("~")


def read_instruction(task_dir: Path) -> str:
    """Read the instruction without canary comments at the top."""
    text = (task_dir / "instruction.md").read_text(encoding="utf-8")
    lines = text.splitlines(keepends=True)
    while lines and _CANARY.fullmatch(lines[0].rstrip("\n")):
        lines.pop(0)
    return "".join(lines)


def skills_listing(variant_dir: Path, root: str) -> str:
    """List each Skill's name, description and location, for the prompt of an agent without a Skills
    folder."""
    found = [path for path in variant_dir.rglob("*") if is_root_name(path.name)]
    skills = []
    for path in sorted(found, key=lambda path: str(path).encode()):
        fields, _ = parse_frontmatter(path.read_text(encoding="utf-8").splitlines())
        shown = {
            "name": plain_field(fields, "name") or path.parent.name,
            "description": plain_field(fields, "description") or "",
            "location": f"{root}/{path.relative_to(variant_dir)}",
        }
        skills.append(_SKILL.format(**{key: escape(text, False) for key, text in shown.items()}))
    return _LISTING.format(skills="\n".join(skills))


def write_home_files(root: Path, agent: AgentProgram) -> None:
    """Write an agent's files to its HOME without following links of the task."""
    for name, text in agent.home_files.items():
        own_file(root, f"{HOME}/{name}").write_text(text, encoding="utf-8")


def collect_logs(root: Path, agent: AgentProgram, target: Path, reading: Reading) -> list[str]:
    """Copy the agent's logs below `target`, named as in HOME without the leading dot; return skipped
    ones with reasons."""
    left_out = []
    for name in agent.logs:
        folder = plain_folder(root, in_home(name))
        if folder is None:
            left_out.append(f"{name}: no folder")
            continue
        kept = target / name.removeprefix("~/").lstrip(".")
        left_out += [f"{name}/{what}" for what in copy_logs(folder, kept, reading)]
    return left_out


def listed_tools(stdout: Path) -> tuple[str, ...] | None:
    """Return the tools listed at the start of an agent's output, as in Claude Code, or None."""
    with stdout.open("rb") as lines:
        return next(filter(None, map(_tools, islice(lines, _FIRST_LINES))), None)


def _tools(line: bytes) -> tuple[str, ...] | None:
    try:
        tools = json.loads(line).get("tools")
    except (ValueError, AttributeError, RecursionError):
        return None
    named = isinstance(tools, list) and all(isinstance(tool, str) for tool in tools)
    return tuple(tools) if named else None


def write_agent_record(path: Path, agent: AgentProgram) -> None:
    """Write the agent's command template, settings and names of keys."""
    fields: dict[str, Any] = structs.asdict(agent)
    fields |= {
        "files": [file.name for file in agent.files],
        "shown": [str(one) for one in agent.shown],
    }
    path.write_text(json.dumps(fields, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
