"""Claude Code: session files and the stdout stream."""
