"""mini-swe-agent, non-interactive."""

from typing import Any

from skilljuror.base.errors import UsageError
from skilljuror.base.study import AgentProgram
from skilljuror.harness.agents.programs import ProgramOptions, installed, named_model, read_options

_KEYS = {
    "openai": "OPENAI_API_KEY",
    "anthropic": "ANTHROPIC_API_KEY",
    "gemini": "GEMINI_API_KEY",
    "openrouter": "OPENROUTER_API_KEY",
}
"""Provider of a model -> environment variable of its key, as in litellm."""


def mini_program(options: dict[str, Any], model: str | None) -> AgentProgram:
    """Return `mini --yolo` with a key from the environment; it does not know Skills, so its prompt
    lists them."""
    given = read_options("mini-swe-agent", options, ProgramOptions)
    model = named_model("mini-swe-agent", model)
    program = installed(
        "mini-swe-agent",
        given.program or "mini",
        "pip install mini-swe-agent mcp",
        "mini-swe-agent",
    )
    settings = {
        **({"api_base": given.base_url} if given.base_url else {}),
        **({"reasoning_effort": given.effort} if given.effort else {}),
    }
    words = [f"model.model_kwargs.{name}={settings[name]}" for name in settings]
    return AgentProgram(
        name="mini-swe-agent",
        version=program.version,
        files=(),
        argv=(
            *program.argv, "-c", "mini", *(part for word in words for part in ("-c", word)),
            "--model", model, "--yolo", "--exit-immediately", "--cost-limit", "0",
            "--task={prompt}", "--output", "{logs}/trajectory.json",
        ),
        model=model,
        keys=_keys(model) if given.keys is None else given.keys,
        effort=given.effort,
        skills=None,
        env={
            "MSWEA_CONFIGURED": "true",
            "MSWEA_COST_TRACKING": "ignore_errors",
            "LITELLM_LOCAL_MODEL_COST_MAP": "True",
            "LITELLM_TELEMETRY": "False",
        },
        writes_log=True,
        shown=program.shown,
    )  # fmt: skip


def _keys(model: str) -> tuple[str, ...]:
    provider = model.partition("/")[0]
    if provider not in _KEYS:
        raise UsageError(
            f"agent 'mini-swe-agent': no key is known for a model of {provider!r}; name its variable"
            " in agent.options.keys ([] for none)",
            field="agent.options.keys",
        )
    return (_KEYS[provider],)
