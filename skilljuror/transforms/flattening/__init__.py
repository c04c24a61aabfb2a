"""Many files into one flat SKILL.md."""
