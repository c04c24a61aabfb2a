"""What Harbor's converter for each agent leaves of results and messages (formats.md §3.5 to §6)."""

from collections.abc import Callable
from typing import Any, NamedTuple

from msgspec.structs import replace

from skilljuror.models.trajectory import ToolResult
from skilljuror.parsers.assembly.builders import CallBuilder, TrajectoryBuilder
from skilljuror.parsers.assembly.offered_skills import add_available_skills
from skilljuror.parsers.atif.inline_calls import InlineCall, openhands_calls, terminus_calls
from skilljuror.parsers.atif.tool_results import ObservationResult
from skilljuror.parsers.claude_code import tool_results as claude_results
from skilljuror.parsers.claude_code.skill_bodies import BODY_PREFIX, SkillBodies
from skilljuror.parsers.codex.messages import add_system_text, add_user_text
from skilljuror.parsers.codex.tool_results import read_output
from skilljuror.parsers.gemini_cli import tool_results as gemini_results
from skilljuror.parsers.mini_swe_agent import observations as mini_results
from skilljuror.parsers.openhands.events import result_of_output, stated_exit_code
from skilljuror.parsers.raw_logs.coercion import as_dict, text_of

_SUMMARY = "This session is being continued from a previous conversation"
_HANDOFF = "Performed context summarization and handoff to continue task."
"""The system step of terminus-2 where its context is replaced by a summary."""
_ERROR = "\n\n[error] tool reported failure"
_METADATA = "\n\n[metadata] {"


def _plain_result(
    run: TrajectoryBuilder, call: CallBuilder, result: ObservationResult, line: int
) -> ToolResult:
    text = text_of(result.get("content"))
    code = as_dict(result.get("extra")).get("exit_code")
    if isinstance(code, bool) or not isinstance(code, int):
        return ToolResult(text=text, line=line)
    return ToolResult(text=text, line=line, ok=code == 0, exit_code=code)


def _claude_result(
    run: TrajectoryBuilder, call: CallBuilder, result: ObservationResult, line: int
) -> ToolResult:
    """The raw result lies in extra; the content has the file's text twice."""
    kept = as_dict(as_dict(result.get("extra")).get("tool_result_metadata"))
    raw = as_dict(kept.get("raw_tool_result"))
    if not raw:
        text = text_of(result.get("content")).partition(_METADATA)[0]
        text, error, _ = text.partition(_ERROR)
        raw = {"content": text, "is_error": bool(error)}
    return claude_results.read_result(call, raw, kept.get("tool_use_result"), line)


def _codex_result(
    run: TrajectoryBuilder, call: CallBuilder, result: ObservationResult, line: int
) -> ToolResult:
    return read_output(text_of(result.get("content")), line)[0]


def _gemini_result(
    run: TrajectoryBuilder, call: CallBuilder, result: ObservationResult, line: int
) -> ToolResult:
    return gemini_results.read_result(run, call, text_of(result.get("content")), line, False)


def _mini_result(
    run: TrajectoryBuilder, call: CallBuilder, result: ObservationResult, line: int
) -> ToolResult:
    return mini_results.read_result(call, text_of(result.get("content")), line, {})


def _openhands_result(
    run: TrajectoryBuilder, call: CallBuilder, result: ObservationResult, line: int
) -> ToolResult:
    """The kind of the observation is gone: what tells neither a status nor a file tells nothing."""
    text = text_of(result.get("content"))
    code = stated_exit_code(text)
    output = result_of_output(call, text, line, code)
    if code is None and output.ok and output.first_line is None:
        return replace(output, ok=None)
    return output


def _add_system_text(run: TrajectoryBuilder, agent: str, line: int, text: str) -> None:
    listing = add_available_skills(run, text)
    run.add_message(agent, "skill_listing" if listing else "system", text, line)


class Dialect(NamedTuple):
    """How the steps of one agent are read."""

    read_result: Callable[[TrajectoryBuilder, CallBuilder, ObservationResult, int], ToolResult] = (
        _plain_result
    )
    """The result of a call, undone from what the converter did to it."""
    inline_calls: Callable[[str, str | None], tuple[list[str], list[InlineCall]]] | None = None
    """(what was said, the calls) of a message and of what came back, None where nothing did; no
    calls where the agent made none. None for agents that never write calls into their words."""
    add_system_text: Callable[[TrajectoryBuilder, str, int, str], None] = _add_system_text
    """Adds a system step, with the skills that it lists."""


DIALECTS = {
    "claude-code": Dialect(_claude_result),
    "codex": Dialect(_codex_result, add_system_text=add_system_text),
    "gemini-cli": Dialect(_gemini_result),
    "mini-swe-agent": Dialect(_mini_result),
    "openhands": Dialect(_openhands_result, inline_calls=openhands_calls),
    "terminus-2": Dialect(inline_calls=terminus_calls),
}
"""Name of an agent -> how its steps are read."""
PLAIN = Dialect()
"""How the steps of any other agent are read."""


def is_compaction(step: dict[str, Any], text: str) -> bool:
    """Whether a step that is not the agent's says that what stood before it left the context."""
    management = as_dict(as_dict(step.get("extra")).get("context_management"))
    if management:
        return management.get("type") == "compaction" or management.get("boundary") == "replace"
    return step.get("source") == "system" and text == _HANDOFF


def add_user_message(
    run: TrajectoryBuilder, bodies: SkillBodies, agent: str, line: int, text: str
) -> None:
    """Add a user step as what it is; converters flatten everything to plain text."""
    add_available_skills(run, text)
    if text.startswith(BODY_PREFIX):
        bodies.add_body(agent, line, text, None)
    elif text.startswith(("<command-name>", "<command-message>")):
        bodies.add_command(agent, line, text)
    elif text.startswith(_SUMMARY):
        run.add_compaction(agent)
        run.add_message(agent, "summary", text, line)
    elif text.startswith("<session_context>"):
        run.add_message(agent, "tree", text, line)
    else:
        add_user_text(run, agent, line, text)
