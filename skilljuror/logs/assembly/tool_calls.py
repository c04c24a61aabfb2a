"""Tools of every agent in one vocabulary: kind of action and meaning of the arguments."""

import re
import shlex
from itertools import pairwise
from typing import Any

from skilljuror.base.trajectory import Action
from skilljuror.logs.raw_logs.coercion import as_count, as_dict, as_list, as_str, json_of

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
