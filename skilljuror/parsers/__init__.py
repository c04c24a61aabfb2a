"""Parsers: one file per log format, each yielding `Trajectory` records."""

FORMATS = {
    "harbor-trial": "skilljuror.parsers.harbor_trial:HarborTrial",
    "atif": "skilljuror.parsers.atif:Atif",
    "codex-rollout": "skilljuror.parsers.codex_rollout:CodexRollout",
    "codex-exec": "skilljuror.parsers.codex_exec:CodexExec",
    "claude-session": "skilljuror.parsers.claude_session:ClaudeSession",
    "claude-stream": "skilljuror.parsers.claude_stream:ClaudeStream",
    "gemini-chat": "skilljuror.parsers.gemini_chat:GeminiChat",
    "gemini-stream": "skilljuror.parsers.gemini_stream:GeminiStream",
    "mini-swe-agent": "skilljuror.parsers.mini_swe_agent:MiniSweAgent",
    "openhands": "skilljuror.parsers.openhands:OpenHands",
    "terminus-2": "skilljuror.parsers.terminus2:Terminus2",
    "copilot-cli": "skilljuror.parsers.copilot_cli:CopilotCli",
    "opencode": "skilljuror.parsers.opencode:OpenCode",
}
