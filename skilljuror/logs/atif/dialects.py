"""Results and messages as Harbor's converter writes them for each agent."""

from collections.abc import Callable
from typing import Any, NamedTuple

from msgspec.structs import replace

from skilljuror.base.trajectory import ToolResult
from skilljuror.logs.assembly.builders import (
    CallBuilder,
    TrajectoryBuilder,
    add_available_skills,
)
from skilljuror.logs.atif.inline_calls import InlineCall, openhands_calls, terminus_calls
from skilljuror.logs.atif.tool_results import ObservationResult
from skilljuror.logs.claude_code import tool_results as claude_results
from skilljuror.logs.claude_code.skill_bodies import BODY_PREFIX, SkillBodies
from skilljuror.logs.codex.messages import add_system_text, add_user_text
from skilljuror.logs.codex.tool_results import read_output
from skilljuror.logs.gemini_cli import tool_results as gemini_results
from skilljuror.logs.mini_swe_agent import observations as mini_results
from skilljuror.logs.openhands.events import result_of_output, stated_exit_code
from skilljuror.logs.raw_logs.coercion import as_dict, as_int, nested

_SUMMARY = "This session is being continued from a previous conversation"
_HANDOFF = "Performed context summarization and handoff to continue task."
"""System step of terminus-2 where a summary replaces its context."""
_ERROR = "\n\n[error] tool reported failure"
_METADATA = "\n\n[metadata] {"


def _plain_result(result: ObservationResult, text: str, line: int) -> ToolResult:
    code = as_int(nested(result, "extra", "exit_code"))
    return ToolResult(text, line, ok=None if code is None else code == 0, exit_code=code)


def _claude_result(
    call: CallBuilder, result: ObservationResult, text: str, line: int
) -> ToolResult:
    """The raw result is in `extra`; the content repeats the file's text."""
    kept = as_dict(nested(result, "extra", "tool_result_metadata"))
    raw = as_dict(kept.get("raw_tool_result"))
    if not raw:
        text, error, _ = text.partition(_METADATA)[0].partition(_ERROR)
        raw = {"content": text, "is_error": bool(error)}
    return claude_results.read_result(call, raw, kept.get("tool_use_result"), line)


def _openhands_result(call: CallBuilder, text: str, line: int) -> ToolResult:
    """The kind of observation is lost: only a status or a file can be recovered."""
    code = stated_exit_code(text)
    output = result_of_output(call, text, line, code)
    if code is None and output.ok and output.first_line is None:
        return replace(output, ok=None)
    return output


def _add_system_text(run: TrajectoryBuilder, agent: str, line: int, text: str) -> None:
    listing = add_available_skills(run, text)
    run.add_message(agent, "skill_listing" if listing else "system", text, line)


ResultReader = Callable[[TrajectoryBuilder, CallBuilder, ObservationResult, str, int], ToolResult]
"""Restore a result (run, call, logged result, its text, line) from its conversion."""


class Dialect(NamedTuple):
    """How the steps of one agent are read."""

    read_result: ResultReader = lambda run, call, result, text, line: _plain_result(
        result, text, line
    )
    inline_calls: Callable[[str, str | None], tuple[list[str], list[InlineCall]]] | None = None
    """Return (text, calls) of a message and its answer (None if unanswered). None for agents that
    never write calls into their text."""
    add_system_text: Callable[[TrajectoryBuilder, str, int, str], None] = _add_system_text
    """Adds a system step with the Skills that it lists."""


DIALECTS = {
    "claude-code": Dialect(lambda run, *rest: _claude_result(*rest)),
    "codex": Dialect(
        lambda run, call, result, text, line: read_output(text, line)[0],
        add_system_text=add_system_text,
    ),
    "gemini-cli": Dialect(
        lambda run, call, result, text, line: gemini_results.read_result(
            run, call, text, line, False
        )
    ),
    "mini-swe-agent": Dialect(
        lambda run, call, result, text, line: mini_results.read_result(call, text, line, {})
    ),
    "openhands": Dialect(
        lambda run, call, result, text, line: _openhands_result(call, text, line),
        inline_calls=openhands_calls,
    ),
    "terminus-2": Dialect(inline_calls=terminus_calls),
}
"""Agent name -> dialect."""
PLAIN = Dialect()
"""Dialect of any other agent."""


def is_compaction(step: dict[str, Any], text: str) -> bool:
    """Whether a step of the system or user replaces the context before it."""
    management = as_dict(nested(step, "extra", "context_management"))
    if management:
        return management.get("type") == "compaction" or management.get("boundary") == "replace"
    return step.get("source") == "system" and text == _HANDOFF


def add_user_message(
    run: TrajectoryBuilder, bodies: SkillBodies, agent: str, line: int, text: str
) -> None:
    """Classify and add a user step; converters flatten everything to plain text."""
    add_available_skills(run, text)
    if text.startswith(BODY_PREFIX):
        bodies.add_body(agent, line, text, None)
    elif text.startswith(("<command-name>", "<command-message>")):
        bodies.add_command(agent, line, text)
    elif text.startswith(_SUMMARY):
        run.add_compaction(agent, line)
        run.add_message(agent, "summary", text, line)
    elif text.startswith("<session_context>"):
        run.add_message(agent, "tree", text, line)
    else:
        add_user_text(run, agent, line, text)
