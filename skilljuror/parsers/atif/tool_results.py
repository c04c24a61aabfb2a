"""What each converter of Harbor leaves of a tool result and of messages (formats.md §3.5 to §6)."""

from collections.abc import Sequence
from typing import Any

from msgspec.structs import replace

from skilljuror.models.trajectory import ToolResult
from skilljuror.parsers import openhands
from skilljuror.parsers.assembly.builders import CallBuilder, TrajectoryBuilder
from skilljuror.parsers.assembly.offered_skills import add_available_skills
from skilljuror.parsers.claude_code import tool_results as claude_results
from skilljuror.parsers.claude_code.skill_bodies import BODY_PREFIX, SkillBodies
from skilljuror.parsers.codex.messages import add_system_text, add_user_text
from skilljuror.parsers.codex.tool_results import read_output
from skilljuror.parsers.gemini_cli import tool_results as gemini_results
from skilljuror.parsers.mini_swe_agent import observations as mini_results
from skilljuror.parsers.raw_logs.coercion import as_dict, as_list, text_of

_SUMMARY = "This session is being continued from a previous conversation"
_HANDOFF = "Performed context summarization and handoff to continue task."
"""The system step of terminus-2 where its context is replaced by a summary."""
_ERROR = "\n\n[error] tool reported failure"
_METADATA = "\n\n[metadata] {"


def is_compaction(step: dict[str, Any], shown: str) -> bool:
    """Whether a step that is not the agent's says that what stood before it left the context."""
    told = as_dict(as_dict(step.get("extra")).get("context_management"))
    if told:
        return told.get("type") == "compaction" or told.get("boundary") == "replace"
    return step.get("source") == "system" and shown == _HANDOFF


def add_system_message(
    run: TrajectoryBuilder, agent: str, line: int, shown: str, program: str
) -> None:
    """Add a system step; Codex lists its skills there, and lists none when there are none."""
    if program == "codex":
        add_system_text(run, agent, line, shown)
    else:
        listing = add_available_skills(run, shown)
        run.add_message(agent, "skill_listing" if listing else "system", shown, line)


def add_user_message(
    run: TrajectoryBuilder, bodies: SkillBodies, agent: str, line: int, shown: str
) -> None:
    """Add a user step as what it is; converters flatten everything to plain text."""
    add_available_skills(run, shown)
    if shown.startswith(BODY_PREFIX):
        bodies.body(agent, line, shown, None)
    elif shown.startswith(("<command-name>", "<command-message>")):
        bodies.command(agent, line, shown)
    elif shown.startswith(_SUMMARY):
        run.add_compaction(agent)
        run.add_message(agent, "summary", shown, line)
    elif shown.startswith("<session_context>"):
        run.add_message(agent, "tree", shown, line)
    else:
        add_user_text(run, agent, line, shown)


def read_result(
    run: TrajectoryBuilder, agent: str, call: CallBuilder, given: dict[str, Any], line: int
) -> ToolResult:
    """The result of a call, undone from what the converter of that agent did to it."""
    shown = text_of(given.get("content"))
    if agent == "codex":
        return read_output(shown, line)[0]
    if agent == "claude-code":
        return _claude(call, given, shown, line)
    if agent == "gemini-cli":
        return gemini_results.read_result(run, call, shown, line, False)
    if agent == "mini-swe-agent":
        return mini_results.read_result(call, shown, line, {})
    if agent == "openhands":
        return _openhands(call, shown, line)
    code = as_dict(given.get("extra")).get("exit_code")
    if isinstance(code, bool) or not isinstance(code, int):
        return ToolResult(text=shown, line=line)
    return ToolResult(text=shown, line=line, ok=code == 0, exit_code=code)


def _openhands(call: CallBuilder, shown: str, line: int) -> ToolResult:
    """The kind of the observation is gone: what tells neither a status nor a file tells nothing."""
    code = openhands.stated_exit_code(shown)
    result = openhands.result_of_output(call, shown, line, code)
    if code is None and result.ok and result.first_line is None:
        return replace(result, ok=None)
    return result


def _claude(call: CallBuilder, given: dict[str, Any], shown: str, line: int) -> ToolResult:
    """The raw result lies in extra; the content has the file's text twice."""
    kept = as_dict(as_dict(given.get("extra")).get("tool_result_metadata"))
    raw = as_dict(kept.get("raw_tool_result"))
    if not raw:
        shown = shown.partition(_METADATA)[0]
        shown, error, _ = shown.partition(_ERROR)
        failed = bool(error)
        raw = {"content": shown, "is_error": failed}
    return claude_results.read_result(call, raw, kept.get("tool_use_result"), line)


ObservationResult = dict[str, Any]
"""One observation result as logged."""

_NO_COMMAND = "mark_task_complete"
"""terminus-2 tells by it that it is done; the screen of the step is that of its commands."""


def call_id_of(value: Any) -> str | None:
    """An id of a call, which a careless writer gives as a number; None where there is none."""
    if isinstance(value, str):
        return value or None
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else None


def match_results(
    calls: Sequence[CallBuilder], results: Sequence[ObservationResult]
) -> tuple[list[tuple[CallBuilder, ObservationResult]], list[ObservationResult]]:
    """(calls with their results, results that no call of the step takes).

    By id; of several calls with one id the first that has no answer yet, and of several results
    for one call all of them. Results without an id go in order to the last calls that are left.
    """
    if len(calls) == 1 == len(results) and calls[0].call_id == results[0].get("source_call_id"):
        return [(calls[0], results[0])], []
    given: dict[int, ObservationResult] = {}
    nameless, unknown = [], []
    for result in results:
        key = call_id_of(result.get("source_call_id"))
        if key is None:
            nameless.append(result)
            continue
        named = [at for at, call in enumerate(calls) if call.call_id == key]
        if not named:
            unknown.append(result)
            continue
        at = next((one for one in named if one not in given), named[-1])
        given[at] = merge_results(given[at], result) if at in given else result
    takers = _takers(calls, given)[-len(nameless) :] if nameless else []
    given.update(zip(takers, nameless, strict=False))
    left = unknown + nameless[len(takers) :]
    return [(calls[at], given[at]) for at in sorted(given)], left


def _takers(calls: Sequence[CallBuilder], given: dict[int, ObservationResult]) -> list[int]:
    free = [at for at in range(len(calls)) if at not in given]
    return [at for at in free if calls[at].name != _NO_COMMAND] or free


def merge_results(one: ObservationResult, other: ObservationResult) -> ObservationResult:
    """Two results of one call as one."""
    contents = [given["content"] for given in (one, other) if given.get("content") is not None]
    return {
        "source_call_id": one.get("source_call_id"),
        "content": contents[0] if len(contents) == 1 else contents,
        "extra": {**as_dict(one.get("extra")), **as_dict(other.get("extra"))},
        "subagent_trajectory_ref": [
            ref for given in (one, other) for ref in as_list(given.get("subagent_trajectory_ref"))
        ],
    }
