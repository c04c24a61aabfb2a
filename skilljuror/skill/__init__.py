"""A Skill as files, Markdown and knowledge units."""
