"""Parsers: one folder per agent, one `Parser` per log format, each yielding `Trajectory` records."""

FORMATS = {
    "harbor-trial": "skilljuror.parsers.harbor.trial:HarborTrial",
    "atif": "skilljuror.parsers.atif.trajectory:Atif",
    "codex-rollout": "skilljuror.parsers.codex.rollout:CodexRollout",
    "codex-exec": "skilljuror.parsers.codex.exec_stream:CodexExec",
    "claude-session": "skilljuror.parsers.claude_code.session:ClaudeSession",
    "claude-stream": "skilljuror.parsers.claude_code.stream:ClaudeStream",
    "gemini-chat": "skilljuror.parsers.gemini_cli.chat:GeminiChat",
    "gemini-stream": "skilljuror.parsers.gemini_cli.stream:GeminiStream",
    "qwen-code": "skilljuror.parsers.qwen_code.session:QwenSession",
    "mini-swe-agent": "skilljuror.parsers.mini_swe_agent.trajectory:MiniSweAgent",
    "openhands": "skilljuror.parsers.openhands.events:OpenHands",
    "openhands-v1": "skilljuror.parsers.openhands.v1_events:OpenHandsV1",
    "terminus-2": "skilljuror.parsers.terminus2.episodes:Terminus2",
    "copilot-cli": "skilljuror.parsers.copilot_cli.events:CopilotCli",
    "opencode": "skilljuror.parsers.opencode.session_export:OpenCode",
    "opencode-database": "skilljuror.parsers.opencode.database:OpenCodeDatabase",
    "kimi": "skilljuror.parsers.kimi.wire:KimiWire",
    "pi": "skilljuror.parsers.pi.session:PiSession",
}
"""Log format -> its `Parser`; `module:attribute` is valid as well."""
