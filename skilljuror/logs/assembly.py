"""Builds a trajectory from the records of a log: run, steps, calls, tokens, and the reader of records.

Calls and results are joined by call id in file order, never along parent links, which lose the
results of parallel calls.

A log may repeat records of another session (a fork, a resumed session, a replay for a sub-agent).
These are *inherited*: context of the run, which its agent has read, and no work of it. They leave
its steps, tokens, compactions and events at one place, `inherit`.
"""

import re
import shlex
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, ClassVar

from msgspec import Struct
from msgspec.structs import replace

from skilljuror.base.files import path_text
from skilljuror.base.trajectory import (
    Action,
    Compaction,
    Message,
    MessageKind,
    OfferedSkill,
    Step,
    ToolCall,
    ToolResult,
    Trajectory,
    Usage,
)
from skilljuror.logs.base import LogKind, Parser, Source
from skilljuror.logs.records import (
    JsonDocument,
    JsonLines,
    as_count,
    as_dict,
    as_dicts,
    as_epoch,
    as_float,
    as_list,
    as_str,
    file_key,
    json_of,
    nested,
    remainder,
    unreadable,
)

_SKILLS_BLOCK = re.compile(r"<available_skills>(.*?)</available_skills>", re.DOTALL)
_SKILL_NAME = re.compile(r"<name>([^<\n]*)</name>")
_SKILL_PLACE = re.compile(r"<location>([^<\n]*)</location>")
_STATUS = re.compile(
    r"\b(?:status|error|code)\b\W{0,4}(?:code\W{0,3})?([1-5]\d\d)\b", re.IGNORECASE
)
_REFUSED_STATUSES = frozenset({400, 413, 422})
"""HTTP statuses of a request that is refused for its own content."""
_ACCOUNT_WORDS = re.compile(r"billing|quota|credit balance", re.IGNORECASE)
"""Words of a refused account, whatever the status."""
_PROVIDER_WORDS = re.compile(
    r"rate.?limit|usage.?limit|overloaded|server.?error|unavailable|connection|connect error"
    r"|time.?d?.?out\b|stream.?(?:disconnected|closed)|authentication|unauthorized"
    r"|reconnecting|high demand",
    re.IGNORECASE,
)
"""Words of a provider's fault without a status."""
_NUMBERED = re.compile(r"[ \t]{0,12}L?(\d{1,9})(?:→|\t|\| ?|: |\. |$)")
"""`  12→text` and `12<tab>text` (Claude Code), `00012| text` and `12: text` (OpenCode), `12. text` (Copilot),
`L12: text` (Codex)."""

_POLLED = ("session_id", "bash_id", "task_id", "shell_id", "shellId")
"""Arguments that name the command of a poll."""

REWOUND = "the session was rewound; the undone steps are counted"
"""Warning that `quality_flags` looks for."""
MAIN = "main"
"""Id of the main agent; sub-agents have the ids in their log."""


# Tokens


class UsageFields(Struct, frozen=True):
    """Where a log states the tokens of a response or a run: names, or paths `a.b`; of several names
    separated by `|` the first with a value."""

    input: str
    cache_read: str = ""
    cache_write: str = ""
    output: str = ""
    reasoning: str = ""
    cost_usd: str = ""
    hour_write: str = ""
    disjoint: bool = False
    """Whether input excludes cached and written tokens."""
    apart: bool = False
    """Whether output excludes reasoning."""
    free: bool = False
    """Whether a cost of 0 is that of a model without a known price."""

    def usage(self, stated: dict[str, Any], cost: Any = None) -> Usage | None:
        """The four disjoint classes; None if nothing is stated. `cost` is stated elsewhere."""
        if not stated:
            return None
        read = as_count(_stated(stated, self.cache_read))
        written = as_count(_stated(stated, self.cache_write))
        prompt = as_count(_stated(stated, self.input))
        output = as_count(_stated(stated, self.output))
        reasoning = as_count(_stated(stated, self.reasoning))
        cost = as_float(_stated(stated, self.cost_usd) if cost is None else cost)
        return Usage(
            input=prompt if self.disjoint else remainder(prompt, read, written),
            cache_write=written,
            cache_read=read,
            output=output + (reasoning or 0) if self.apart and output is not None else output,
            reasoning=reasoning,
            cost_usd=None if self.free and not cost else cost,
            hour_write=as_count(_stated(stated, self.hour_write)),
        )


def _stated(stated: dict[str, Any], names: str) -> Any:
    if not names:
        return None
    if "|" not in names and "." not in names:
        return stated.get(names)
    values = (nested(stated, *name.split(".")) for name in names.split("|"))
    return next((value for value in values if value is not None), None)


USAGE = {
    "chat": UsageFields(
        "prompt_tokens", "prompt_tokens_details.cached_tokens|cache_read_input_tokens",
        "cache_creation_input_tokens", "completion_tokens",
        "completion_tokens_details.reasoning_tokens",
    ),
    "responses": UsageFields(
        "input_tokens", "input_tokens_details.cached_tokens", "", "output_tokens",
        "output_tokens_details.reasoning_tokens",
    ),
    "codex": UsageFields(
        "input_tokens", "cached_input_tokens", "cache_write_input_tokens", "output_tokens",
        "reasoning_output_tokens",
    ),
    "claude": UsageFields(
        "input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens", "output_tokens",
        "output_tokens_details.thinking_tokens", disjoint=True,
        hour_write="cache_creation.ephemeral_1h_input_tokens",
    ),
    "claude model": UsageFields(
        "inputTokens", "cacheReadInputTokens", "cacheCreationInputTokens", "outputTokens", "",
        "costUSD", disjoint=True,
    ),
    "gemini": UsageFields("input", "cached", "", "output", "thoughts", apart=True),
    "gemini stream": UsageFields("input_tokens", "cached", "", "output_tokens"),
    "qwen": UsageFields(
        "promptTokenCount", "cachedContentTokenCount", "", "candidatesTokenCount",
        "thoughtsTokenCount",
    ),
    "qwen telemetry": UsageFields(
        "input_token_count", "cached_content_token_count", "", "output_token_count",
        "thoughts_token_count",
    ),
    "copilot": UsageFields(
        "inputTokens", "cacheReadTokens", "cacheWriteTokens", "outputTokens", "reasoningTokens",
    ),
    "opencode": UsageFields(
        "input", "cache.read", "cache.write", "output", "reasoning", disjoint=True,
    ),
    "openhands": UsageFields(
        "prompt_tokens", "cache_read_tokens", "cache_write_tokens", "completion_tokens",
        "reasoning_tokens", free=True,
    ),
    "kimi": UsageFields(
        "inputOther", "inputCacheRead", "inputCacheCreation", "output", disjoint=True,
    ),
    "pi": UsageFields(
        "input", "cacheRead", "cacheWrite", "output", "", "cost.total", disjoint=True, free=True,
    ),
    "atif": UsageFields(
        "prompt_tokens", "cached_tokens",
        "extra.cache_creation_input_tokens|extra.cache_write_input_tokens", "completion_tokens",
        "extra.reasoning_output_tokens|extra.thoughts_tokens"
        "|extra.completion_tokens_details.reasoning_tokens", "cost_usd",
    ),
    "atif run": UsageFields(
        "total_prompt_tokens", "total_cached_tokens",
        "extra.total_cache_creation_input_tokens|extra.total_cache_write_input_tokens",
        "total_completion_tokens", "extra.reasoning_output_tokens|extra.total_thoughts_tokens",
    ),
}  # fmt: skip
"""Who states tokens -> where."""


def usage_of(who: str, stated: Any, cost: Any = None) -> Usage | None:
    """Usage as an agent or API of the table states it; None if nothing is stated."""
    return USAGE[who].usage(as_dict(stated), cost)


def usage_of_response(response: dict[str, Any]) -> Usage | None:
    """Usage of a raw API response (chat or responses API)."""
    usage = as_dict(response, "usage")
    is_chat = "prompt_tokens" in usage or "input_tokens" not in usage
    return usage_of("chat" if is_chat else "responses", usage)


def total_usage(usages: Iterable[Usage | None]) -> Usage | None:
    """Sum per class; None without any usage, and per class None if no usage has it."""
    known = [usage for usage in usages if usage is not None]
    totals: dict[str, Any] = {}
    for name in Usage.__struct_fields__:
        counts = [count for usage in known if (count := getattr(usage, name)) is not None]
        unknown = counts and min(counts) < 0  # and so is the sum
        totals[name] = min(counts) if unknown else sum(counts) if counts else None
    return Usage(**totals) if known else None


# Tools


_PATH = ("file_path", "path", "filePath", "absolute_path", "filename", "notebook_path", "dir_path",
         "target_file", "AbsolutePath", "absolutePath", "relative_workspace_path", "filepath", "relative_path")  # fmt: skip
_FROM = ("start_line", "startLine", "StartLine", "start_line_one_indexed")
_TO = ("end_line", "endLine", "EndLine", "end_line_one_indexed_inclusive")
_COMMAND = ("command", "cmd", "keystrokes", "code")
_WRITTEN = ("content", "new_string", "new_str", "file_text", "newString", "new_source", "contents")
_WORKDIR = ("workdir", "dir_path", "directory", "cwd")
_ZERO_BASED = "read_file"
"""The only tool whose line offset counts from 0."""

_NAMES: dict[Action, str] = {
    "shell": "exec_command shell_command shell local_shell container.exec Bash bash run_shell_command execute_bash"
    " bash_command run command_execution terminal execute_command run_command run_in_terminal run_terminal_cmd"
    " run_bash developer__shell Shell powershell pwsh PowerShell Execute execute bash_tool run_shell launch-process",
    "poll": "write_stdin read_bash BashOutput TaskOutput write_bash read_powershell write_powershell",
    "python": "run_ipython execute_ipython_cell ipython python",
    "read": f"Read view read NotebookRead view_image open_file view_file ReadFile readFile fs_read {_ZERO_BASED}",
    "write": "Write write_file create write create_file WriteFile fs_write writeFile Create write_to_file",
    "edit": "Edit MultiEdit NotebookEdit edit edit_file replace str_replace apply_patch file_change insert multiedit"
    " StrReplaceFile ApplyPatch search_replace replace_in_file",
    "search": "Grep grep grep_search search_file_content rg codesearch",
    "list": "Glob glob LS ls list list_directory list_dir find list_files ListDir listDirectory",
    "skill": "Skill skill activate_skill load_skill use_skill invoke_skill",
    "agent": "Agent agent Task task spawn_agent invoke_agent collab_tool_call delegate_to_agent",
    "other": "TodoWrite TodoRead todo_write todo_read todowrite todoread write_todos SetTodoList TaskCreate TaskUpdate"
    " TaskGet TaskList TaskStop update_plan update_goal get_goal create_goal report_intent think finish"
    " complete_task mark_task_complete task_complete attempt_completion submit AskUserQuestion ask_question ask_user"
    " ask_followup_question question request_user_input EnterPlanMode ExitPlanMode exit_plan_mode web_search_call"
    " tool_search_call ToolSearch WebSearch WebFetch web_search web_fetch websearch webfetch google_web_search wait"
    " wait_agent close_agent send_input send_message resume_agent list_agents SendMessage KillShell KillBash stop_bash"
    " list_bash save_memory request_permissions list_mcp_resources ListMcpResourcesTool StructuredOutput",
}
TOOLS = {name: action for action, names in _NAMES.items() for name in names.split()}
"""Tool name -> action; "other" tools do not open files."""
_SCRIPT_OPTIONS = {
    **dict.fromkeys(("bash", "sh", "zsh", "dash", "ksh", "fish"), re.compile(r"-[a-z]*c")),
    **dict.fromkeys(("powershell", "pwsh"), re.compile(r"-c(?:ommand)?", re.IGNORECASE)),
    "cmd": re.compile(r"/[ck]", re.IGNORECASE),
}
"""Shell -> its option for a script."""
_EDITOR_ACTIONS: dict[str, Action] = {
    "view": "read", "create": "write", "write": "write", "str_replace": "edit", "insert": "edit", "undo_edit": "edit",
}  # fmt: skip
"""Editor command -> action."""
_EDITORS = {"developer__text_editor", "text_editor", "str_replace_editor", "str_replace_based_edit_tool", "edit", "file_editor"}  # fmt: skip
_SKILL_TOOL = re.compile(
    r"(?:get|load|read|use|activate|invoke|open|fetch|view)_?skill$", re.IGNORECASE
)
"""Tool of another server that hands out a Skill by name."""
_PATCH_HEADS = ("*** Update File: ", "*** Add File: ", "*** Delete File: ")


def call_fields(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """Return the ToolCall fields that follow from a tool's name and arguments."""
    action = TOOLS.get(name, "other")
    if name in _EDITORS and isinstance(command := arguments.get("command"), str):
        action = _EDITOR_ACTIONS.get(command, action)
    reader = _READERS.get("skill" if action == "other" and _SKILL_TOOL.search(name) else action)
    fields = reader(arguments, name) if reader else {}
    fields["action"] = action
    if action == "other" and name not in TOOLS:
        fields["unknown"] = True
    if action == "shell" and (fields["command"] or "").lstrip().startswith("apply_patch"):
        fields.update(_patch_fields(fields["command"]), action="edit")
    return fields


def arguments_of(given: Any) -> dict[str, Any]:
    """Arguments logged as an object, or as the model's JSON text."""
    if not isinstance(given, str):
        return as_dict(given)
    value = json_of(given)
    return {"input": given} if value is None else as_dict(value)


def _first(arguments: dict[str, Any], names: tuple[str, ...]) -> str | None:
    for name in names:
        value = arguments.get(name)
        if isinstance(value, str):
            return value
    return None


def _shell(arguments: dict[str, Any], _: str) -> dict[str, Any]:
    command = _first(arguments, _COMMAND)
    if command is None:
        command = _argv(arguments.get("command"))
    return {"command": command, "workdir": as_str(_first(arguments, _WORKDIR))}


def _argv(value: Any) -> str | None:
    """Return the script of `["bash", "-lc", script]`, else the words, shell-quoted."""
    words = [word for word in as_list(value) if isinstance(word, str)]
    if not words:
        return None
    shell = words[0].replace("\\", "/").rpartition("/")[2].lower().removesuffix(".exe")
    option = _SCRIPT_OPTIONS.get(shell)
    if option is not None:
        for word, script in pairwise(words):
            if option.fullmatch(word):
                return script
    return shlex.join(words)


def _read(arguments: dict[str, Any], tool: str) -> dict[str, Any]:
    start, lines = _range(arguments, tool)
    return {"path": _first(arguments, _PATH), "start": start, "count": lines}


def _range(arguments: dict[str, Any], tool: str) -> tuple[int | None, int | None]:
    """(first line, number of lines) requested."""
    span = as_list(arguments.get("view_range"))
    first = as_count(span[0] if span else _any(arguments, _FROM))
    last = as_count(span[1] if len(span) > 1 else _any(arguments, _TO))
    if first is not None or last is not None:
        return first, None if last is None else max(0, last - (first or 1) + 1)
    offset = as_count(_any(arguments, ("offset", "line_offset")))
    if offset is not None:
        offset = offset + 1 if tool == _ZERO_BASED else max(1, offset)
    return offset, as_count(_any(arguments, ("limit", "n_lines")))


def _any(arguments: dict[str, Any], names: tuple[str, ...]) -> Any:
    return next((arguments[name] for name in names if name in arguments), None)


def _write(arguments: dict[str, Any], _: str) -> dict[str, Any]:
    return {"path": _first(arguments, _PATH), "written": _first(arguments, _WRITTEN)}


def _edit(arguments: dict[str, Any], _: str) -> dict[str, Any]:
    patch = _first(arguments, ("input", "patch", "patchText"))
    if patch is not None:
        return _patch_fields(patch)
    written = _first(arguments, _WRITTEN)
    if written is None and isinstance(arguments.get("edits"), list):
        parts = (_first(edit, _WRITTEN) for edit in arguments["edits"] if isinstance(edit, dict))
        written = "\n".join(part for part in parts if part)
    return {"path": _first(arguments, _PATH), "written": written}


def _patch_fields(patch: str) -> dict[str, Any]:
    """Fields of a patch: its first file, and as `written` the whole patch, which names the others."""
    for line in patch.split("\n"):
        for head in _PATCH_HEADS:
            if line.startswith(head):
                return {"path": line[len(head) :].strip(), "written": patch}
    return {"path": None, "written": patch}


def _search(arguments: dict[str, Any], _: str) -> dict[str, Any]:
    path = _first(arguments, (*_PATH, "directory"))
    several = as_list(arguments.get("paths"))
    if path is None and len(several) == 1:
        path = as_str(several[0])
    return {"pattern": _first(arguments, ("pattern", "query", "regex")), "path": path}


def _skill(arguments: dict[str, Any], _: str) -> dict[str, Any]:
    return {
        "skill": _first(
            arguments, ("skill", "name", "skill_name", "skillName", "load_skill", "command")
        )
    }


_READERS: dict[str, Any] = {
    "shell": _shell,
    "python": _shell,
    "read": _read,
    "write": _write,
    "edit": _edit,
    "search": _search,
    "list": _search,
    "skill": _skill,
}


def strip_line_numbers(text: str) -> tuple[str, int] | None:
    """Return (text without line numbers, its first line number), or None if it has none.

    Stops at the first line that breaks the sequence, so notes of the harness after the file are
    dropped.
    """
    kept: list[str] = []
    first = 0
    for line in text.split("\n"):
        match = _NUMBERED.match(line)
        if match is None or (kept and int(match[1]) != first + len(kept)):
            break
        first = first if kept else int(match[1])
        kept.append(line[match.end() :])
    return ("\n".join(kept), first) if kept else None


# The run


class CallBuilder(Struct, eq=False):
    """A call whose result may follow later."""

    call_id: str | None
    name: str
    arguments: dict[str, Any]
    line: int
    sub_agent: str | None = None
    """Id of the sub-agent that it started."""
    result: ToolResult | None = None
    fields: dict[str, Any] = {}
    """ToolCall fields derived from its name and arguments."""

    def __post_init__(self) -> None:
        self.fields = call_fields(self.name, self.arguments)

    @property
    def action(self) -> Action:
        action: Action = self.fields["action"]
        return action

    def end_with(self, exit_code: int) -> None:
        """Set the exit status that a poll or a notice reports for a command that ran on."""
        if self.result is not None:
            self.result = replace(self.result, exit_code=exit_code, ok=exit_code == 0)

    def build(self) -> ToolCall:
        result = _of_resource(self.result) if self.fields.get("unknown") else self.result
        return ToolCall(
            call_id=self.call_id, name=self.name, line=self.line, agent=self.sub_agent,
            arguments=self.arguments, result=result, **self.fields,
        )  # fmt: skip


def _of_resource(result: ToolResult | None) -> ToolResult | None:
    """Unwrap the text of a server's resource: `{"contents": [{"uri": …, "text": …}]}`."""
    text = result and (result.clean or result.text)
    if result is None or not text or text[:1] != "{":
        return result
    texts = [text for item in as_dicts(json_of(text), "contents") if (text := as_str(item, "text"))]
    return replace(result, clean="\n".join(texts)) if texts else result


class StepBuilder(Struct, eq=False):
    """An agent message that may still grow."""

    agent: str
    line: int
    file: int
    timestamp: float | None
    key: str | None = None
    model: str | None = None
    texts: list[str] = []
    reasoning: list[str] = []
    calls: list[CallBuilder] = []
    usage: Usage | None = None
    inherited: bool = False
    """Repeated from another session."""

    def say(self, text: str | None, *, thought: bool = False) -> None:
        """Add a text, unless it is empty."""
        if text:
            (self.reasoning if thought else self.texts).append(text)

    def build(self, index: int) -> Step:
        return Step(
            agent=self.agent, index=index, line=self.line, text="\n".join(self.texts),
            reasoning="\n".join(self.reasoning), calls=tuple([call.build() for call in self.calls]),
            usage=self.usage, model=self.model, timestamp=self.timestamp, file=self.file,
            key=self.key,
        )  # fmt: skip


class TrajectoryBuilder:
    """A run under construction; what is added stands at the record that is being read."""

    def __init__(self) -> None:
        self.steps: list[StepBuilder] = []
        self.messages: list[Message] = []
        self.compactions: list[Compaction] = []
        self.skipped: Counter[str] = Counter()
        self.warnings: list[str] = []
        self.complete = True
        self.offered: dict[tuple[str, str | None], OfferedSkill] | None = None
        self.skill_roots: dict[str, None] = {}
        self.started_at: float | None = None
        self.finished_at: float | None = None
        self.fault: str | None = None
        self.file = 0
        """Index of the raw file being read."""
        self.line = 0
        """Place of the record being read."""
        self.moment: float | None = None
        """Timestamp of the record being read."""
        self.inheriting = False
        """Whether the record being read is repeated from another session."""
        self.running: dict[str, CallBuilder] = {}
        """Commands that run on, by the id that a poll names."""
        self._counts: Counter[str] = Counter()
        self._calls: dict[str, CallBuilder] = {}
        self._steps: dict[tuple[str, str], StepBuilder] = {}

    def at(self, line: int, moment: float | None = None) -> None:
        """Go on to a record."""
        self.line, self.moment = line, moment
        self.include_time(moment)

    def include_time(self, moment: float | None) -> None:
        """Extend the run's start and end to include an own record's timestamp."""
        if moment is None or self.inheriting:
            return
        if self.started_at is None or moment < self.started_at:
            self.started_at = moment
        if self.finished_at is None or moment > self.finished_at:
            self.finished_at = moment

    def skip(self, kind: str) -> None:
        """Count a record that is not read."""
        self.skipped[kind] += 1

    def warn(self, problem: str) -> None:
        self.warnings.append(f"line {self.line}: {problem}")

    def add_step(
        self, agent: str = MAIN, *, key: str | None = None, model: str | None = None
    ) -> StepBuilder:
        step = StepBuilder(
            agent, self.line, self.file, self.moment, key, model, inherited=self.inheriting
        )
        if agent == MAIN:
            self.fault = None
        self.steps.append(step)
        self._counts[agent] += 1
        return step

    def step_of(self, agent: str, key: str | None) -> StepBuilder:
        """Return the step with the log's id, or a new one if it is new or has no id."""
        step = self._steps.get((agent, key)) if key else None
        if step is None:
            step = self.add_step(agent, key=key)
            if key:
                self._steps[agent, key] = step
        return step

    def remove_step(self, step: StepBuilder) -> None:
        """Remove a step that turned out not to be one (a compaction's summary)."""
        self.steps.remove(step)
        self._counts[step.agent] -= 1

    def add_call(
        self, step: StepBuilder, call_id: str | None, name: str | None, arguments: dict[str, Any]
    ) -> CallBuilder:
        call = CallBuilder(call_id, name or "unknown", arguments, self.line)
        step.calls.append(call)
        if call_id is not None:
            self._calls[call_id] = call
        if command := self.polled(call):
            call.fields["command"] = command.fields.get("command")
            call.fields["workdir"] = command.fields.get("workdir")
        return call

    def find_call(self, call_id: Any) -> CallBuilder | None:
        return self._calls.get(call_id) if isinstance(call_id, str) else None

    def answered(self, call_id: Any, kind: str) -> CallBuilder:
        """The call that a record of a kind answers; one outside of the run if the log has none."""
        call = self.find_call(call_id)
        if call is None:
            self.skip(f"{kind} without call")
        return call or CallBuilder(None, "unknown", {}, self.line)

    def polled(self, call: CallBuilder) -> CallBuilder | None:
        """The running command whose later output a call fetches."""
        if call.action != "poll":
            return None
        names = (str(call.arguments.get(name)) for name in _POLLED)
        return next((self.running[name] for name in names if name in self.running), None)

    def end_polled(self, poll: CallBuilder, exit_code: int | None) -> None:
        """Set the exit status that a poll reports for its command."""
        command = self.polled(poll)
        if command is not None and exit_code is not None:
            command.end_with(exit_code)

    def result(self, text: str, **facts: Any) -> ToolResult:
        """A result at this record; an exit status says whether it succeeded."""
        code = facts.get("exit_code")
        if code is not None:
            facts.setdefault("ok", code == 0)
        return ToolResult(text, self.line, **facts)

    def add_message(self, agent: str, kind: MessageKind, text: str, **more: Any) -> None:
        """Add content that reached an agent's context without a call."""
        more = {"line": self.line, "file": self.file, "inherited": self.inheriting} | more
        self.messages.append(Message(agent, kind, text, step=self._counts[agent], **more))

    def add_compaction(self, agent: str, kept: Iterable[tuple[int, int]] | None = None) -> None:
        """Record that an agent's context was compacted here; `kept` are the places that stay."""
        if not self.inheriting:
            ranges = None if kept is None else tuple(kept)
            step = self._counts[agent]
            self.compactions.append(Compaction(agent, step, self.line, ranges, self.file))

    def add_rewind(self) -> None:
        """Record that the session went back to an earlier point."""
        self.warn(REWOUND)

    def add_fault(
        self, agent: str, text: str, status: int | None = None, *, api: bool = False
    ) -> None:
        """Record an error from the model's provider; the main agent's next step clears it.

        `api`: the log names it as an error of the API, so that it counts without a status or known words.
        Errors caused by the request itself, such as a context that is too long, do not count.
        """
        stated = _STATUS.search(text)
        status = status or (int(stated[1]) if stated else None)
        if status is not None:
            is_fault = status not in _REFUSED_STATUSES
        else:
            is_fault = api or _PROVIDER_WORDS.search(text) is not None
        if agent == MAIN and not self.inheriting and (is_fault or _ACCOUNT_WORDS.search(text)):
            self.fault = " ".join(text.split())[:200]

    def add_offered(self, skills: Iterable[OfferedSkill]) -> None:
        """Add Skills that the model was shown; an empty list counts as known."""
        if self.offered is None:
            self.offered = {}
        for skill in skills:
            self.offered.setdefault((skill.name, skill.path), skill)

    def add_available_skills(self, text: str) -> bool:
        """Add the Skills of an `<available_skills>` block; False if the text has none."""
        block = _SKILLS_BLOCK.search(text)
        if block is None:
            return False
        skills = []
        for entry in block[1].split("<skill>")[1:]:
            name, place = _SKILL_NAME.search(entry), _SKILL_PLACE.search(entry)
            if name is None:
                continue
            path = place[1].strip() if place else None
            bundled = "/builtin/" in (path or "")
            skills.append(
                OfferedSkill(name[1].strip(), path, bundled, len(entry.encode(errors="replace")))
            )
            if path:
                self.add_skill_root(path.removesuffix("/SKILL.md").rpartition("/")[0])
        self.add_offered(skills)
        return True

    def add_skill_root(self, path: str | None) -> None:
        if path:
            self.skill_roots.setdefault(path.rstrip("/") or "/")

    def rename_agents(self, agents: dict[str, str]) -> None:
        """Rename agents whose ids appeared late in the log."""
        for step in self.steps:
            step.agent = agents.get(step.agent, step.agent)
        self.messages = [
            replace(message, agent=agents.get(message.agent, message.agent))
            for message in self.messages
        ]

    def ends_with_answer(self) -> bool:
        """Whether the main agent's last step closes the log (False without steps).

        A later note of the harness (an interruption, a local command) closes it too.
        """
        steps = [step for step in self.steps if step.agent == MAIN]
        own = [message for message in self.messages if message.agent == MAIN]
        later = [message.kind for message in own if message.step == len(steps)]
        if later and later[-1] == "other":
            return True
        return bool(steps) and "prompt" not in later and not steps[-1].calls

    def build(
        self, parser: Parser, files: Sequence[Path], *, session: str | None = None,
        trajectory: str = "", usage: Usage | None = None, **fields: Any,
    ) -> Trajectory:  # fmt: skip
        """Return the run. `trajectory` defaults to the session's key, usage to the sum over its
        steps; `fields` are further fields."""
        counts: Counter[str] = Counter()
        steps = []
        for step in self.steps:
            counts[step.agent] += 1
            steps.append(step.build(counts[step.agent]))
        run = Trajectory(
            trajectory=trajectory or session or "",
            session=session,
            format=parser.format,
            files=tuple(map(path_text, files)),
            usage=usage or total_usage(step.usage for step in self.steps),
            steps=tuple(steps),
            messages=tuple(self.messages),
            offered=None if self.offered is None else tuple(self.offered.values()),
            skill_roots=tuple(self.skill_roots),
            started_at=self.started_at,
            finished_at=self.finished_at,
            compactions=tuple(self.compactions),
            skipped=dict(sorted(self.skipped.items())),
            warnings=tuple(self.warnings),
            complete=self.complete,
            fault=self.fault,
            **{"agent": parser.agent, "traits": parser.traits, **fields},
        )
        return inherit(run, Counter(step.agent for step in self.steps if step.inherited))


def inherit(run: Trajectory, counts: Mapping[str, int]) -> Trajectory:
    """Turn the first `counts[agent]` steps of each agent into inherited messages; own steps are
    numbered from 1.

    The usage becomes that of the own steps if it is the sum over the steps, else it stays.
    """
    first = Counter(counts)
    if not first.total() and not any(message.inherited for message in run.messages):
        return run
    old = [step for step in run.steps if step.index <= first[step.agent]]
    own = [step for step in run.steps if step.index > first[step.agent]]
    calls = {call.call_id for step in old for call in step.calls if call.call_id}
    messages = []
    for step in old:
        texts = [step.text]
        for call in step.calls:
            texts += [call.asked, call.result.text if call.result else ""]
        text = "\n".join(filter(None, texts))
        messages.append(
            Message(step.agent, "other", text, step.line, 0, file=step.file, inherited=True)
        )
    for message in run.messages:
        copied = message.inherited or message.step < first[message.agent]
        copied = copied or message.call_id in calls
        before = max(0, message.step - first[message.agent])
        messages.append(replace(message, step=before, inherited=copied))
    summed = run.usage == total_usage(step.usage for step in run.steps)
    return replace(
        run,
        steps=tuple([replace(step, index=step.index - first[step.agent]) for step in own]),
        messages=tuple(sorted(messages, key=lambda one: (not one.inherited, one.file, one.line))),
        compactions=tuple([
            replace(compaction, step=compaction.step - first[compaction.agent])
            for compaction in run.compactions
            if compaction.step >= first[compaction.agent]
        ]),
        usage=total_usage(step.usage for step in own) if summed else run.usage,
        inherited=run.inherited + first[MAIN],
    )  # fmt: skip


# Reading records


class RecordReader:
    """Reads the records of one run: those of kind `a.b` by its method `on_a_b(record)`.

    `run` knows the place of the record. Records of other kinds are counted.
    """

    def __init__(self, run: TrajectoryBuilder) -> None:
        self.run = run
        self.session: str | None = None
        self.trajectory: str | None = None
        """Key of the run, if it is not that of its session."""
        self.agent_version: str | None = None
        self.model: str | None = None
        """Main model; by default that of the first step."""
        self.cwd: str | None = None
        self.home: str | None = None
        self.totals: list[Usage | None] = []
        """Usage that the log reports for the run, in parts; if empty, the steps' usage counts."""
        self.ended = False
        """Whether the log reaches the end of the run; an answer also ends the log of a session."""

    def read_file(self, path: Path) -> None:
        """Read a file: by default a record per line."""
        for line, record in self.lines(path):
            self.read(line, record)

    def lines(self, path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
        """Yield the records of a file with their lines; then note its warnings."""
        lines = JsonLines(path)
        yield from lines
        self.run.warnings.extend(lines.warnings)
        self.run.complete = self.run.complete and lines.complete

    def document(self, path: Path) -> JsonDocument:
        """Load a file that is one document."""
        document = JsonDocument(path)
        self.run.complete = self.run.complete and document.complete
        return document

    def read(self, line: int, record: dict[str, Any]) -> None:
        """Read one record."""
        self.run.at(line, as_epoch(record.get("timestamp")))
        self.take(str(record.get("type")), record)

    def take(self, kind: str, record: dict[str, Any]) -> None:
        """Call the method of a kind of record."""
        method = getattr(self, "on_" + kind.replace(".", "_"), None)
        if method is None:
            self.run.skipped[kind] += 1
        else:
            method(record)

    def finish(self) -> None:
        """Finish what depends on the last record."""


class RecordParser(Parser):
    """Reads a log with a `RecordReader`: its file, then those of sub-agents, into one run."""

    reader: ClassVar[type[RecordReader]]
    opening: ClassVar[str | None] = None
    """Name of the record with the session's id, for error messages; None for formats without one."""

    def parse(self, source: Source) -> Iterator[Trajectory]:
        reader = self.reader(TrajectoryBuilder())
        self.read_files(reader, source)
        yield self.run_of(reader, source)

    def read_files(self, reader: Any, source: Source) -> None:
        """Read all files of a run."""
        for reader.run.file, path in enumerate(source.files):
            reader.read_file(path)

    def run_of(self, reader: RecordReader, source: Source) -> Trajectory:
        """Return the run that a reader has read."""
        run = reader.run
        reader.finish()
        if reader.session is None and self.opening is not None:
            raise unreadable(source.path, f"has no {self.opening}")
        answered = self.kind == LogKind.SESSION and run.ends_with_answer()
        run.complete = run.complete and (reader.ended or answered)
        own = [step for step in run.steps if step.model and not step.inherited]
        first = next((step for step in own if step.agent == MAIN), own[0] if own else None)
        return run.build(
            self,
            source.files,
            session=reader.session,
            trajectory=reader.trajectory or reader.session or file_key(source.path),
            agent_version=reader.agent_version,
            model=reader.model or (first.model if first else None),
            cwd=reader.cwd,
            home=reader.home,
            usage=total_usage(reader.totals),
        )
