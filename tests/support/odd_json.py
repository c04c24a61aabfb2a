"""JSON with values of wrong types in places."""

DEEP: list[object] = []
for _ in range(400):
    DEEP = [DEEP]
ODD: list[object] = [None, True, -1, 1e300, 10**30, "", "x", "\ud800", [], {}, [None], [[1]], {"a": {}}, DEEP,
       "head -² /root/.claude/skills/a/SKILL.md", f"sed -n '{'9' * 5000}p' /root/.claude/skills/a/SKILL.md",
       "for f in; do cat /skills/a/*.md | xargs -I{} sh -c '{}'", "python3 - <<E\nopen('/skills/a/SKILL.md')[:²]"]  # fmt: skip
"""Values of wrong types, and commands that no shell runs."""


def with_odd_values(value, chance):
    """A JSON value with some values in it replaced by odd ones, by chance."""
    if chance.random() < 0.04:
        return chance.choice(ODD)
    if isinstance(value, dict):
        return {key: with_odd_values(item, chance) for key, item in value.items()}
    if isinstance(value, list):
        return [with_odd_values(item, chance) for item in value]
    return value
