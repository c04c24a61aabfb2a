"""Claude Code, non-interactive."""

import json
from typing import Any

from skilljuror.base.study import AgentProgram
from skilljuror.harness.agents.programs import SkilledOptions, installed, named_model, read_options

QUIET = {
    "DISABLE_AUTOUPDATER": "1",
    "DISABLE_TELEMETRY": "1",
    "DISABLE_ERROR_REPORTING": "1",
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    "IS_SANDBOX": "1",
}
"""No updates, no telemetry; permissions need not be asked for in a sandbox."""
_NO_PLUGINS = json.dumps({"enabledPlugins": {"cc-plugin-plugin-authoring@builtin": False}})
"""Settings without the built-in plugins that have a Skill; older versions (2.1.197) ignore them."""


def claude_program(options: dict[str, Any], model: str | None) -> AgentProgram:
    """Return `claude -p` with a key from the environment."""
    given = read_options("claude-code", options, SkilledOptions)
    program = installed(
        "claude-code", given.program or "claude", "npm install -g @anthropic-ai/claude-code"
    )
    env = dict(QUIET)
    if not given.bundled_skills:
        env["CLAUDE_CODE_DISABLE_BUNDLED_SKILLS"] = "1"
    if given.base_url:
        env["ANTHROPIC_BASE_URL"] = given.base_url
    effort = ("--effort", given.effort) if given.effort else ()
    plugins = () if given.bundled_skills else ("--settings", _NO_PLUGINS)
    web = () if given.web_tools else ("--disallowedTools", "WebSearch,WebFetch")
    return AgentProgram(
        name="claude-code",
        version=program.version,
        files=(),
        argv=(
            *program.argv, "--print", "--output-format", "stream-json", "--verbose",
            "--dangerously-skip-permissions", "--model", named_model("claude-code", model),
            *effort, *plugins, *web, "--", "{prompt}",
        ),
        model=model,
        keys=("ANTHROPIC_API_KEY",) if given.keys is None else given.keys,
        effort=given.effort,
        skills="~/.claude/skills",
        env=env,
        logs=("~/.claude/projects",),
        writes_log=True,
        shown=program.shown,
    )  # fmt: skip
