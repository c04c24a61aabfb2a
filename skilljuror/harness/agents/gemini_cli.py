"""Gemini CLI, non-interactive."""

import json
from typing import Any

from skilljuror.base.errors import UsageError
from skilljuror.base.study import AgentProgram
from skilljuror.harness.agents.programs import SkilledOptions, installed, named_model, read_options

_BUNDLED = ["antigravity-support", "skill-creator"]
"""Its bundled Skills, disabled by name."""
_SETTINGS: dict[str, Any] = {
    "security": {"auth": {"selectedType": "gemini-api-key"}},
    "privacy": {"usageStatisticsEnabled": False},
    "general": {"enableAutoUpdate": False, "disableAutoUpdate": True, "disableUpdateNag": True},
    "telemetry": {"enabled": False},
    "experimental": {"skills": True},
}


def gemini_program(options: dict[str, Any], model: str | None) -> AgentProgram:
    """Return `gemini --yolo` with a key from the environment. It has no option for reasoning
    effort."""
    given = read_options("gemini-cli", options, SkilledOptions)
    if given.effort:
        raise UsageError(
            "agent 'gemini-cli' does not support agent.effort; remove it, and choose a model with"
            " agent.model instead",
            field="agent.effort",
        )
    program = installed(
        "gemini-cli", given.program or "gemini", "npm install -g @google/gemini-cli"
    )
    off = [] if given.bundled_skills else _BUNDLED
    settings = _SETTINGS | {"skills": {"enabled": True, "disabled": off}}
    if not given.web_tools:
        settings["tools"] = {"exclude": ["google_web_search", "web_fetch"]}
    env = {"GEMINI_CLI_TRUST_WORKSPACE": "true"}
    if given.base_url:
        env["GOOGLE_GEMINI_BASE_URL"] = given.base_url
    return AgentProgram(
        name="gemini-cli",
        version=program.version,
        files=(),
        argv=(
            *program.argv, "--yolo", "--model", named_model("gemini-cli", model),
            "--output-format", "stream-json", "--prompt={prompt}",
        ),
        model=model,
        keys=("GEMINI_API_KEY",) if given.keys is None else given.keys,
        skills="~/.gemini/skills",
        home_files={".gemini/settings.json": json.dumps(settings, indent=1) + "\n"},
        env=env,
        logs=("~/.gemini/tmp",),
        writes_log=True,
        shown=program.shown,
    )  # fmt: skip
