"""What a study needs from this machine, checked before a trial is paid for."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

from skilljuror.base.errors import HarnessError, SkilljurorError
from skilljuror.base.llm import ModelChoice
from skilljuror.base.study import AgentProgram, StudyConfig
from skilljuror.harness.agents import refuse_missing_keys
from skilljuror.harness.agents.tried_versions import untried
from skilljuror.harness.base import CheckedHarness, Harness, Requirement
from skilljuror.harness.sandbox import bwrap_problem

PROVIDERS = {"codex": "openai", "claude-code": "anthropic", "gemini-cli": "gemini"}
"""Provider of an agent's models, as litellm names it."""


def refuse_unsupported(harness: Harness, tasks: Sequence[Path]) -> None:
    """Raise HarnessError for tasks that the harness cannot run."""
    for one in harness.task_requirements(tasks) if isinstance(harness, CheckedHarness) else ():
        if not one.ready:
            raise HarnessError(one.detail, field="harness")


def refuse_unprotected(config: StudyConfig, agent: AgentProgram, harness: Harness) -> None:
    """Raise HarnessError for an agent with a model and no sandbox, unless the study allows it."""
    chosen = config.harness.name != "local" or config.harness.options.get("isolation") == "none"
    if not agent.scripted and not chosen and harness.prepare() == "none":
        raise HarnessError(
            f"agent {agent.name!r} requires a sandbox, which is unavailable: {bwrap_problem()}; or set"
            " harness.options.isolation: none to run it unprotected as this user"
        )


def preflight(
    config: StudyConfig,
    harness: Harness,
    agents: Sequence[AgentProgram],
    tasks: Sequence[Path],
    *,
    live: bool = False,
) -> tuple[Requirement, ...]:
    """Check the harness, the tasks, the agents' keys and, if `live`, that each model answers."""
    rows = [_tried(f"harness {config.harness.name}", lambda: f"isolation {harness.prepare()}")]
    if isinstance(harness, CheckedHarness):
        rows += harness.task_requirements(tasks)
        rows += harness.machine_requirements(tasks) if rows[0].ready else ()
    rows += _agents(config, agents, harness)
    if live:
        rows += _models(config, agents)
    return tuple(rows)


def _agents(
    config: StudyConfig, agents: Sequence[AgentProgram], harness: Harness
) -> Iterator[Requirement]:
    for agent in {agent.name: agent for agent in agents}.values():
        yield _tried(f"agent {agent.name}", partial(_agent, config, agent, harness))


def _agent(config: StudyConfig, agent: AgentProgram, harness: Harness) -> str:
    refuse_missing_keys(agent)
    refuse_unprotected(config, agent, harness)
    version = f"version {agent.version}" if agent.version else "no version on this machine"
    version = untried(agent.name, agent.version) or version
    return f"{version}; {', '.join(agent.keys) or 'no key'}"


def _models(config: StudyConfig, agents: Sequence[AgentProgram]) -> Iterator[Requirement]:
    """Ask every model one question, through its provider's address or that of the study."""
    chosen = [*map(config.agent_of, config.conditions)]
    for name, model in dict.fromkeys((agent.name, agent.model) for agent in agents if agent.model):
        options = next((one.options for one in chosen if one.model == model), {})
        address = options.get("base_url") or _base_url(options.get("env") or {}) or None
        provider = "" if "/" in model else PROVIDERS.get(name, "openai") + "/"
        choice = ModelChoice(provider + model, api_base=address, transport_retries=0)
        yield _tried(f"model {model}", partial(_ask, choice))


def _ask(choice: ModelChoice) -> str:
    from skilljuror.base.llm import complete

    reply = complete(choice, [{"role": "user", "content": "Answer with: ready"}], None)
    return f"it answered {reply.text.strip()[:60]!r}"


def _base_url(env: dict[str, str]) -> str | None:
    return next((value for name, value in sorted(env.items()) if name.endswith("BASE_URL")), None)


def _tried(name: str, check: Callable[[], str]) -> Requirement:
    try:
        return Requirement(name, True, check())
    except SkilljurorError as error:
        return Requirement(name, False, error.message)
