"""Normalise calls of other systems: Windows paths, tools of other servers, typed text."""

import re

from skilljuror.base.trajectory import EventKind, ToolCall
from skilljuror.events.paths import contains_any

_WINDOWS_PATH = re.compile(
    r"\b[A-Za-z]:\\\w|\\(?:\.claude|\.codex|\.agents?|\.gemini|\.github|skills)\\"
)
_SEPARATORS = (":\\", "\\.", "\\skills\\")
"""Every match of that expression contains one of these."""
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+")
_WRITE_WORDS = frozenset({"write", "create", "save", "put"})
_EDIT_WORDS = frozenset(
    {"edit", "replace", "update", "patch", "insert", "append", "delete", "remove", "move", "rename", "modify"}
)  # fmt: skip
_LIST_WORDS = frozenset({
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
_READ_WORDS = frozenset(
    {"read", "get", "view", "open", "cat", "fetch", "load", "show", "file", "files", "content",
     "contents", "resource", "text"}
)  # fmt: skip


def with_forward_slashes(command: str) -> str:
    """Replace Windows paths by paths with forward slashes."""
    if "\\" in command and contains_any(command, _SEPARATORS) and _WINDOWS_PATH.search(command):
        return command.replace("\\", "/")
    return command


def classify_tool(name: str) -> tuple[EventKind, bool]:
    """Return (kind of access, whether it shows content) by a tool's name:
    `mcp__files__read_text_file` reads and shows, `lint_markdown` only reads."""
    words = {word.lower() for word in _WORD.findall(name)}
    if words & _WRITE_WORDS:
        return "write", False
    if words & _EDIT_WORDS:
        return "edit", False
    if words & _LIST_WORDS:
        return "list", False
    return "read", bool(words & _READ_WORDS)


def typed_text(call: ToolCall) -> str:
    """Text that a call types into a running program; "" if it only polls."""
    given = call.arguments.get("chars")
    return given.strip() if isinstance(given, str) else ""
