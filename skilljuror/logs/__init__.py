"""Logs of agents: find them, and read each with the `Parser` of its format into `Trajectory` records."""

FORMATS = {
    "harbor-trial": "skilljuror.logs.harbor:HarborTrial",
    "atif": "skilljuror.logs.atif:Atif",
    "codex-rollout": "skilljuror.logs.codex:CodexRollout",
    "codex-exec": "skilljuror.logs.codex:CodexExec",
    "claude-session": "skilljuror.logs.claude_code:ClaudeSession",
    "claude-stream": "skilljuror.logs.claude_code:ClaudeStream",
    "gemini-chat": "skilljuror.logs.gemini_cli:GeminiChat",
    "gemini-stream": "skilljuror.logs.gemini_cli:GeminiStream",
    "qwen-code": "skilljuror.logs.qwen_code:QwenSession",
    "mini-swe-agent": "skilljuror.logs.mini_swe_agent:MiniSweAgent",
    "openhands-v1": "skilljuror.logs.openhands:OpenHandsV1",
    "terminus-2": "skilljuror.logs.terminus2:Terminus2",
    "copilot-cli": "skilljuror.logs.copilot_cli:CopilotCli",
    "opencode": "skilljuror.logs.opencode:OpenCode",
    "opencode-database": "skilljuror.logs.opencode:OpenCodeDatabase",
    "kimi": "skilljuror.logs.kimi:KimiCode",
    "pi": "skilljuror.logs.pi:PiSession",
}
"""Log format -> its `Parser`; `module:attribute` is valid as well."""
