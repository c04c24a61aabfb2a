"""Tool results of Gemini CLI as shown to the model."""

import re
from typing import Any

from skilljuror.base.trajectory import ToolResult
from skilljuror.logs.assembly.builders import CallBuilder, TrajectoryBuilder
from skilljuror.logs.raw_logs.coercion import as_dict, as_list, nested

_EXIT = re.compile(r"^Exit Code: (-?\d{1,9})$", re.MULTILINE)
_TRAILER = re.compile(r"^(?:Exit Code: |Process Group PGID: |Signal: |Error: |Background PIDs: )")
_FRAME = re.compile(
    r"(?:Command: .{0,100000}?\nDirectory: [^\n]*\n)?(?:Output|Stdout): ", re.DOTALL
)
"""Frame before a command's output; older versions repeat the command there."""
_PART = re.compile(
    r"\s*(?:IMPORTANT: The file content has been truncated|\[File content truncated|Showing).{0,300}?"
    r"lines (?P<first>\d{1,9})-\d{1,9} of (?P<total>\d{1,9}) total lines.{0,400}?(?: ---|\n---\n|\])\n",
    re.DOTALL,
)
"""Notice before a part of a file."""
_TREE_ROOT = re.compile(r"^[ \t]{0,8}(/\S[^\n]*)/$", re.MULTILINE)
_OPEN, _CLOSE = "<untrusted_context>\n", "\n</untrusted_context>"


def read_result(
    run: TrajectoryBuilder, call: CallBuilder, text: str, line: int, failed: bool
) -> ToolResult:
    """Result of a call; `failed` is the logged status, which is never set for commands."""
    if failed:
        return ToolResult(text=text, line=line, ok=False)
    if call.action == "shell":
        return _shell(text, line)
    if call.action == "skill":
        return _skill(run, text, line)
    part = _PART.match(text) if call.action == "read" else None
    if part:
        return ToolResult(
            text=text, line=line, ok=True, clean=text[part.end() :],
            first_line=int(part["first"]), total_lines=int(part["total"]),
        )  # fmt: skip
    return ToolResult(text=text, line=line, ok=True if text else None)


def text_of_response(parts: Any, status: str | None) -> tuple[str | None, bool]:
    """Return (text shown to the model, whether it is an error); text is None without an answer."""
    texts: list[str] = []
    failed = status in {"error", "cancelled"}
    for part in as_list(parts):
        response = as_dict(nested(part, "functionResponse", "response"))
        for name in ("output", "error"):
            if isinstance(response.get(name), str):
                texts.append(response[name])
                failed = failed or name == "error"
    if not texts and status is None:
        return None, False
    return "\n".join(texts), failed


def _shell(text: str, line: int) -> ToolResult:
    """Exit status 0 is not printed; without the usual frame the status is unknown."""
    inner = text.removeprefix(_OPEN).removesuffix(_CLOSE)
    frame = _FRAME.match(inner)
    if frame is None:
        return ToolResult(text=text, line=line)
    codes = _EXIT.findall(inner)
    exit_code = int(codes[-1]) if codes else 0
    kept = inner[frame.end() :].split("\n")
    while kept and _TRAILER.match(kept[-1]):
        kept.pop()
    clean = "\n".join(kept)
    return ToolResult(
        text=text, line=line, ok=exit_code == 0, exit_code=exit_code,
        clean="" if clean == "(empty)" else clean,
    )  # fmt: skip


def _skill(run: TrajectoryBuilder, text: str, line: int) -> ToolResult:
    """The body of an activated Skill, and the tree with its location."""
    if not text.startswith("<activated_skill"):
        return ToolResult(text=text, line=line, ok=None if not text else False)
    body = text.partition("<instructions>")[2].partition("</instructions>")[0]
    root = _TREE_ROOT.search(text.partition("<available_resources>")[2])
    if root:
        run.add_skill_root(root[1].rpartition("/")[0])
    return ToolResult(text=text, line=line, ok=True, clean=body.strip())
