"""What calls say in spellings of their own: Windows paths, names of other servers' tools."""

import re

from skilljuror.attribution.paths import contains_any
from skilljuror.models.events import EventKind
from skilljuror.models.trajectory import ToolCall

_WINDOWS = re.compile(
    r"\b[A-Za-z]:\\\w|\\(?:\.claude|\.codex|\.agents?|\.gemini|\.github|skills)\\"
)
_SEPARATED = (":\\", "\\.", "\\skills\\")
"""One of them stands in whatever that expression finds."""
_NAME = re.compile(r"[A-Z]?[a-z]+|[A-Z]+")
_WRITES = frozenset({"write", "create", "save", "put"})
_EDITS = frozenset(
    {"edit", "replace", "update", "patch", "insert", "append", "delete", "remove", "move", "rename", "modify"}
)  # fmt: skip
_NAMES = frozenset({
    "list",
    "ls",
    "tree",
    "directory",
    "info",
    "stat",
    "exists",
    "metadata",
    "glob",
})
_READS = frozenset(
    {"read", "get", "view", "open", "cat", "fetch", "load", "show", "file", "files", "content",
     "contents", "resource", "text"}
)  # fmt: skip


_HOME = re.compile(r"\$\{?env:(?:USERPROFILE|HOME)\b\}?|%USERPROFILE%", re.IGNORECASE)


def with_forward_slashes(command: str) -> str:
    """A command with the paths of Windows written with slashes, and its name for the home folder."""
    if "\\" in command and contains_any(command, _SEPARATED) and _WINDOWS.search(command):
        return _HOME.sub("$HOME", command).replace("\\", "/")
    return command


_SHELL = r"(?P<shell>(?:[\w./-]*/)?(?:ba|z|k|da)?sh|source|\.)"
_FILE = r"(?P<file>[^\s()<>|;&]{1,500}|\"[^\"()<>|;&]{1,500}\"|'[^'()<>|;&]{1,500}')"
_RUN_AS_TEXT = re.compile(
    rf"(?<![\w./-]){_SHELL}[ \t]+(?:<\(|-[a-z]*c[ \t]+\"\$\()[ \t]*(?:cat[ \t]|<)[ \t]*{_FILE}[ \t]*\)\"?"
)
_SLURPED = re.compile(rf"\$\([ \t]*<[ \t]*{_FILE}[ \t]*\)")
_ECHOED = re.compile(
    r"\bwhile[ \t]+(?:IFS=\S*[ \t]+)?read(?:[ \t]+-\w+)*[ \t]+(?P<name>\w+)[ \t]*[;\n]\s*do\s+"
    r"(?:echo|printf[ \t]+[\"']?[^\s\"']{0,40}%s\\n[\"']?)[ \t]+"
    r"(?:\"[^\"\n]{0,80}\$\{?(?P=name)\}?[^\"\n]{0,80}\"|\$\{?(?P=name)\}?)\s*[;\n]\s*done\b"
)
"""A loop that prints every line it reads."""


def simplified_command(command: str) -> str:
    """A command with roundabout ways to run or print a file written the short way:
    `bash <(cat a)` and `bash -c "$(cat a)"` as `bash a`, `$(<a)` as `$(cat a)`, a loop that reads
    and echoes lines as `cat`."""
    if "<(" in command or '"$(' in command:
        command = _RUN_AS_TEXT.sub(r"\g<shell> \g<file>", command)
    if "<" in command and "$(" in command:
        command = _SLURPED.sub(r"$(cat \g<file>)", command)
    if "while" in command and "read" in command:
        command = _ECHOED.sub("cat", command)
    return command


def classify_tool(tool: str) -> tuple[EventKind, bool]:
    """What a tool does with the paths it is given, and whether it answers with their text."""
    words = {word.lower() for word in _NAME.findall(tool)}
    if words & _WRITES:
        return "write", False
    if words & _EDITS:
        return "edit", False
    if words & _NAMES:
        return "list", False
    return "read", bool(words & _READS)


def typed_text(call: ToolCall) -> str:
    """What a poll types into a running program, beside waiting for it."""
    given = call.arguments.get("chars")
    return given.strip() if isinstance(given, str) else ""
