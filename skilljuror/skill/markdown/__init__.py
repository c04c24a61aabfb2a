"""An index over Markdown: blocks, headings, frontmatter, inline text."""
