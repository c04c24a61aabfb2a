"""Parsers: one file per log format, each yielding `Trajectory` records."""

FORMATS = {
    "atif": "skilljuror.parsers.atif:Atif",
    "codex-rollout": "skilljuror.parsers.codex_rollout:CodexRollout",
    "claude-session": "skilljuror.parsers.claude_session:ClaudeSession",
}
