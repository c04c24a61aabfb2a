"""The Skill that was planted for the recorded sessions."""

from skilljuror.base.trajectory import Resource, SkillManifest

FILES = {
    "SKILL.md": """---
name: tide-table
description: Work out the tides of a harbour. Use when a tide table is asked for.
---
# Tide tables

1. Read the harbour's constants in `references/constants.md`.
2. Run `python3 scripts/tides.py HARBOUR DAY` and give its line back unchanged.

## Neap tides

For neap tides, read `references/neaps.md` first.
""",
    "references/constants.md": """# Constants

| harbour | lag | range |
|---|---|---|
| Ostmole | 3.2 | 2.1 |
| Westkai | 2.7 | 1.8 |
""",
    "references/neaps.md": """# Neap tides

Multiply the range by 0.6 on the two days after the half moon.
""",
    "scripts/tides.py": """import sys

LAGS = {'Ostmole': 3.2, 'Westkai': 2.7}

harbour, day = sys.argv[1:3]
print(f'{harbour} {day}: high water at {(int(day) * 0.8 + LAGS[harbour]) % 12.4:.1f} h')
""",
}


def manifest() -> SkillManifest:
    """The Skill as a study offers it."""
    resources = tuple(
        Resource("tide-table", path, "root" if path == "SKILL.md" else "support", text)
        for path, text in FILES.items()
    )
    return SkillManifest(resources, (), ("tide-table",))
