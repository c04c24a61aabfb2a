"""A home folder of this machine with Skills and instructions of every brand, which no trial may find."""

from pathlib import Path

from tests.support.harness_tasks import write_tree

MARK = "planted-elsewhere"
SKILLS = (
    ".agents/skills", ".claude/skills", ".codex/skills", ".config/opencode/skill", ".factory/skills",
    ".gemini/skills", ".goose/skills", ".kimi/skills", ".openhands/skills", ".opencode/skill",
    ".pi/agent/skills", ".qwen/skills",
)  # fmt: skip
"""Folders of user Skills."""
INSTRUCTIONS = (
    "AGENTS.md", "CLAUDE.md", "GEMINI.md", ".claude/CLAUDE.md", ".codex/AGENTS.md",
    ".config/opencode/AGENTS.md", ".gemini/GEMINI.md", ".kimi/AGENTS.md", ".qwen/QWEN.md",
)  # fmt: skip
"""Files with instructions for every session."""


def planted_home(folder: Path) -> Path:
    """Such a home folder; every file holds MARK."""
    skill = f"---\nname: {MARK}\ndescription: Brew tea, always. {MARK}\n---\n\n{MARK}\n"
    files = {f"{place}/{MARK}/SKILL.md": skill for place in SKILLS}
    write_tree(folder, files | dict.fromkeys(INSTRUCTIONS, f"Say {MARK}.\n"))
    return folder
