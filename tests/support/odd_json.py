"""JSON as no program writes it: members and items replaced by values of other types."""

DEEP: list[object] = []
for _ in range(400):
    DEEP = [DEEP]
ODD: list[object] = [None, True, -1, 1e300, 10**30, "", "x", "\ud800", [], {}, [None], [[1]], {"a": {}}, DEEP,
       "head -² /root/.claude/skills/a/SKILL.md", f"sed -n '{'9' * 5000}p' /root/.claude/skills/a/SKILL.md",
       "for f in; do cat /skills/a/*.md | xargs -I{} sh -c '{}'", "python3 - <<E\nopen('/skills/a/SKILL.md')[:²]"]  # fmt: skip
"""Values of wrong types, and commands that no shell runs."""


def spoil(value, chance):
    """A value in which about one part in 25, chosen by `chance`, is an odd one."""
    if chance.random() < 0.04:
        return chance.choice(ODD)
    if isinstance(value, dict):
        return {key: spoil(item, chance) for key, item in value.items()}
    if isinstance(value, list):
        return [spoil(item, chance) for item in value]
    return value
