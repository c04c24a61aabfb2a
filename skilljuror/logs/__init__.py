"""Parsers: one folder per agent, one `Parser` per log format, each yielding `Trajectory` records."""

FORMATS = {
    "harbor-trial": "skilljuror.logs.harbor.trial:HarborTrial",
    "atif": "skilljuror.logs.atif.trajectory:Atif",
    "codex-rollout": "skilljuror.logs.codex.rollout:CodexRollout",
    "codex-exec": "skilljuror.logs.codex.exec_stream:CodexExec",
    "claude-session": "skilljuror.logs.claude_code.session:ClaudeSession",
    "claude-stream": "skilljuror.logs.claude_code.stream:ClaudeStream",
    "gemini-chat": "skilljuror.logs.gemini_cli.chat:GeminiChat",
    "gemini-stream": "skilljuror.logs.gemini_cli.stream:GeminiStream",
    "qwen-code": "skilljuror.logs.qwen_code.session:QwenSession",
    "mini-swe-agent": "skilljuror.logs.mini_swe_agent.trajectory:MiniSweAgent",
    "openhands": "skilljuror.logs.openhands.events:OpenHands",
    "openhands-v1": "skilljuror.logs.openhands.v1_events:OpenHandsV1",
    "terminus-2": "skilljuror.logs.terminus2.episodes:Terminus2",
    "copilot-cli": "skilljuror.logs.copilot_cli.events:CopilotCli",
    "opencode": "skilljuror.logs.opencode.session_export:OpenCode",
    "opencode-database": "skilljuror.logs.opencode.database:OpenCodeDatabase",
    "kimi": "skilljuror.logs.kimi.wire:KimiWire",
    "pi": "skilljuror.logs.pi.session:PiSession",
}
"""Log format -> its `Parser`; `module:attribute` is valid as well."""
