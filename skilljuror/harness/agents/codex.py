"""Codex CLI, non-interactive."""

import json
from typing import Any

from skilljuror.base.study import AgentProgram
from skilljuror.harness.agents.programs import SkilledOptions, installed, named_model, read_options

_PROVIDER = "study"


def codex_program(options: dict[str, Any], model: str | None) -> AgentProgram:
    """Return `codex exec` with its own provider: a key from the environment, no login."""
    given = read_options("codex", options, SkilledOptions)
    program = installed("codex", given.program or "codex", "npm install -g @openai/codex")
    keys = ("OPENAI_API_KEY",) if given.keys is None else given.keys
    settings: dict[str, Any] = {
        "model": named_model("codex", model),
        "model_provider": _PROVIDER,
        **({"model_reasoning_effort": given.effort} if given.effort else {}),
        "check_for_update_on_startup": False,
        "analytics.enabled": False,
        "feedback.enabled": False,
        "skills.bundled.enabled": given.bundled_skills,
        "web_search": "live" if given.web_tools else "disabled",
        "shell_environment_policy.exclude": list(keys),  # commands of the model need none
    }
    provider: dict[str, Any] = {
        "name": "study" if given.base_url else "OpenAI",
        "base_url": given.base_url or "https://api.openai.com/v1",
        "wire_api": "responses",
        "supports_websockets": False,  # tried first otherwise, for seconds, where there are none
        **({"env_key": keys[0]} if keys else {}),
    }
    settings |= {f"model_providers.{_PROVIDER}.{name}": provider[name] for name in provider}
    return AgentProgram(
        name="codex",
        version=program.version,
        files=(),
        argv=(
            *program.argv, "exec", "--json", "--skip-git-repo-check",
            "--dangerously-bypass-approvals-and-sandbox", "--", "{prompt}",
        ),
        model=model,
        keys=keys,
        effort=given.effort,
        skills="~/.agents/skills",
        home_files={".codex/config.toml": _toml(settings)},
        logs=("~/.codex/sessions",),
        writes_log=True,
        shown=program.shown,
    )  # fmt: skip


def _toml(settings: dict[str, Any]) -> str:
    """Format as TOML: strings, booleans and lists of strings are written as in JSON."""
    return "".join(f"{name} = {json.dumps(settings[name])}\n" for name in settings)
