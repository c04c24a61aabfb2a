"""Tool results of Gemini CLI as the model saw them (formats.md §5.1)."""

import re

from skilljuror.models.trajectory import Result
from skilljuror.parsers.drafts import CallDraft, RunDraft

_EXIT = re.compile(r"^Exit Code: (-?\d+)$", re.MULTILINE)
_TRAILER = re.compile(r"^(?:Exit Code: |Process Group PGID: |Signal: |Error: |Background PIDs: )")
_TREE_ROOT = re.compile(r"^[ \t]{0,8}(/\S[^\n]*)/$", re.MULTILINE)
_OPEN, _CLOSE = "<untrusted_context>\n", "\n</untrusted_context>"


def read_result(run: RunDraft, call: CallDraft, shown: str, line: int, failed: bool) -> Result:
    """The result of a call; `failed` is what the log says, which is never said of a command."""
    if failed:
        return Result(text=shown, line=line, ok=False)
    if call.fields["action"] == "shell":
        return _shell(shown, line)
    if call.fields["action"] == "skill":
        return _skill(run, shown, line)
    return Result(text=shown, line=line, ok=True if shown else None)


def _shell(shown: str, line: int) -> Result:
    """Exit status 0 is not printed; an output without the usual frame says nothing."""
    inner = shown.removeprefix(_OPEN).removesuffix(_CLOSE)
    if not inner.startswith("Output: "):
        return Result(text=shown, line=line)
    codes = _EXIT.findall(inner)
    exit_code = int(codes[-1]) if codes else 0
    kept = inner.removeprefix("Output: ").split("\n")
    while kept and _TRAILER.match(kept[-1]):
        kept.pop()
    clean = "\n".join(kept)
    return Result(
        text=shown, line=line, ok=exit_code == 0, exit_code=exit_code,
        clean="" if clean == "(empty)" else clean,
    )  # fmt: skip


def _skill(run: RunDraft, shown: str, line: int) -> Result:
    """The body of an activated skill, and the tree that tells where it lies."""
    if not shown.startswith("<activated_skill"):
        return Result(text=shown, line=line, ok=None if not shown else False)
    body = shown.partition("<instructions>")[2].partition("</instructions>")[0]
    root = _TREE_ROOT.search(shown.partition("<available_resources>")[2])
    if root:
        run.root(root[1].rpartition("/")[0])
    return Result(text=shown, line=line, ok=True, clean=body.strip())
