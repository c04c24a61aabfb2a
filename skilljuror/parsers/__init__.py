"""Parsers: one file per log format, each yielding `Trajectory` records."""

FORMATS = {
    "harbor-trial": "skilljuror.parsers.harbor_trial:HarborTrial",
    "codex-rollout": "skilljuror.parsers.codex_rollout:CodexRollout",
    "claude-session": "skilljuror.parsers.claude_session:ClaudeSession",
    "atif": "skilljuror.parsers.atif:Atif",
}
