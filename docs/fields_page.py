"""The page on what each format's parser reads, made from the golden logs."""

from collections.abc import Iterable
from pathlib import Path

from skilljuror.parsers import FORMATS
from skilljuror.parsers.field_coverage.survey import Coverage, FieldCoverage, Reading, coverage

GOLDENS = Path(__file__).parent.parent / "trajectories"
ENOUGH = 600.0
"""Seconds: the page must not hang on how fast a machine is."""
SHOWN: tuple[Reading, ...] = ("observed", "routes", "ignored")
"""Readings of fields that hold a value in these logs; all of them are tried."""
COUNTED: tuple[Reading, ...] = (*SHOWN, "empty")

NOTES = {
    "harbor-trial": "Of several logs in `agent/` only the most native is read, by its own format; "
    "`result.json` gives the trial's id, the agent's window, and what the log does not say (program, "
    "version, model, totals). Rewards, exceptions and the durations of the other phases are read as a "
    "record of their own and are no part of a run; configuration and verifier files are left alone.",
    "codex-rollout": "Events that repeat a response item (`agent_message`, `user_message`, most "
    "`item_completed`), the skill list repeated in `world_state` and the replaced history of a compaction "
    "are copies and would count twice; totals come from `token_usage_record` or from differences of the "
    "cumulative count, never from `last_token_usage`; encrypted reasoning says nothing. What a command "
    "did is judged by its text and its output, not by `parsed_cmd`, which gives up on lists and globs.",
    "codex-exec": "`item.started` repeats what `item.completed` says and is read only for calls that never "
    "ended; statuses are left to exit codes.",
    "claude-session": "Bookkeeping and copies of messages (`api-request-*`, snapshots, last "
    "prompts, summaries of other sessions) are counted and never searched; results come from what the "
    "model saw, so that `stdout` and `stderr` beside it are not read twice; parent links are not "
    "followed, because they lose results of parallel calls; a session's own `attributionSkill` is not "
    "believed, because reads of a skill file do not set it. A `.meta.json` beside a sub-agent's file says "
    "nothing that its call does not.",
    "claude-stream": "Output tokens of messages are those at their start, so totals come from the closing "
    "record: by model where it tells them, since the plain `usage` leaves sub-agents out.",
    "gemini-chat": "The echo of a tool result as a user message is no turn; `resultDisplay` is for people; a call's "
    "`status` says success for failing commands, so that the text of the result decides wherever there is one.",
    "gemini-stream": "Pieces of messages are joined, and totals come from the closing `result`; durations "
    "and counts of tools in it are left alone.",
    "qwen-code": "Telemetry is read for sub-agents and provider errors only: the main agent's repeats its messages. What a "
    "sub-agent saw is not in the log. Snapshots of authorship are counted; `resultDisplay` is for people.",
    "mini-swe-agent": "The raw response beside a message is read for its tokens only, the rest of it repeats the "
    "message; `returncode` and `raw_output` beside a result give way to the JSON that the model saw; "
    "configuration, limits and the submission are left alone.",
    "openhands": "A call is read from the model's raw response where there is one (arguments, id, tokens), so "
    "that the event's own copy of its arguments is asked only elsewhere; state changes and the trigger of a "
    "recalled instruction file reached no model.",
    "openhands-v1": "A call is read as the model wrote it, before its own copy in `action`; tokens come from `base_state.json`. What a tool kept "
    "for people (old and new file contents, interpreters, hosts) is left alone.",
    "terminus-2": "Everything that this log has is read.",
    "copilot-cli": "Hooks, permissions and the ends of turns are counted and not read; `content` of a "
    "prompt gives way to `transformedContent`, which is what the model saw; premium requests are no cost.",
    "opencode": "Snapshots and patches repeat what tools did; titles are for people; tokens come from "
    "`step-finish` parts, and from the message only where there are none.",
    "opencode-database": "Rows hold what an export holds and are read alike, so that the fields are those of `opencode`. Other "
    "tables are not read.",
    "kimi": "Beginnings and ends of steps only divide what is between them; approvals, notes to people and the fill of the context are "
    "counted. A sub-agent's own log is read where the session's lacks its events.",
    "atif-parquet": "A row's document is read as `atif`, so that the fields are those; other columns are left alone.",
    "pi": "Parent ids only show that a session was rewound: all entries are read, in the order of the file. `details` of a "
    "result are for people; names, labels and the state of extensions reach no model.",
    "otlp": "Attributes outside the GenAI conventions, except the command and exit code of a process; totals of an invocation, which "
    "repeat its model calls; definitions of tools.",
    "atif": "Fields of ATIF's own bookkeeping (`step_id`, `llm_call_count`, totals of steps) say nothing "
    "new; a continuation is found by the reference to it or by the name Harbor gives its file, a summary by its "
    "name; token ids and log probabilities are left alone.",
}
"""What is not read on purpose, and why."""

_INTRO = """# What is read of each log

Generated by `make docs` from the logs under `trajectories/`; `skilljuror fields --format NAME PATH` makes the same table of
any logs. Every kind of field is given other values of its type, then taken out, and the log is found and parsed again:

- **observed**: another value gives another result;
- **routes**: the value decides what is read or joined (a type, a role, a call id), and does not stand in the result;
- **ignored**: neither another value nor none makes a difference *in these logs*. A field that is only asked where another one
  is silent can be among them;
- **empty**: it never holds a value in these logs (a null, an empty list), so that nothing can be said of it: these are counted,
  and left out of the tables.

A record is named by the kinds of the objects around a field; `[]` is any item of a list and `*` any key that is data. Fields
below the arguments of tools are named as the logs name them: arguments are always kept whole.
"""


def fields_page() -> str:
    """Every format's table, with what is left unread on purpose."""
    parts = [_INTRO]
    for name in FORMATS:
        found = coverage([GOLDENS / name], name, ENOUGH)
        counts = ", ".join(f"{found.count(reading)} {reading}" for reading in COUNTED)
        parts.append(f"## {name}\n\n{NOTES[name]}\n\n{len(found.fields)} fields: {counts}.\n")
        parts.append(_table(found))
    return "\n".join(parts)


def _table(found: Coverage) -> str:
    lines = ["| record | observed | routes | ignored |", "|---|---|---|---|"]
    for record in dict.fromkeys(map(_record, found.fields)):
        fields = [one for one in found.fields if _record(one) == record]
        cells = [_listed(one.field for one in fields if one.reading == name) for name in SHOWN]
        if any(cells):
            lines.append(f"| {record} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _record(one: FieldCoverage) -> str:
    return " ".join(part for part in (one.file, one.record) if part) or "(top)"


def _listed(fields: Iterable[str]) -> str:
    return ", ".join(f"`{field}`" for field in fields)
