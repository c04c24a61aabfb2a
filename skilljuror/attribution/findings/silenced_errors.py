"""`cat a b 2>/dev/null` that fails: one of the files is missing, and nothing says which."""

import re

from skilljuror.attribution.evidence.line_index import LineIndex
from skilljuror.attribution.evidence.output_segments import front_matter_starts
from skilljuror.attribution.evidence.read_evidence import CallOutput, ReadEvidence
from skilljuror.attribution.resolution.resolver import ResolvedAccess
from skilljuror.attribution.run_context import AnalysedCall
from skilljuror.models.resource_class import is_root

_HUSHED = re.compile(r"\s2>\s*/dev/null\s*\Z")
_SEVERAL = re.compile(r"[;|\n]|&&")
_NOTE = "the command failed, its complaint was hidden, and the other files are all shown"


def missing_file(
    analysed: AnalysedCall, output: CallOutput, line_index: LineIndex
) -> ResolvedAccess | None:
    """The only file of a failed command that the output does not show; None where several may be
    the missing one."""
    command = (analysed.call.command or "").strip()
    if output.ok is not False or not output.lines or not _HUSHED.search(command):
        return None
    reading = [
        one for one in analysed.resolved_accesses if one.access.kind == "read" and one.access.shown
    ]
    if (
        len(reading) < 2
        or len(reading) != len(analysed.resolved_accesses)
        or _SEVERAL.search(command)
    ):
        return None
    roots = sum(is_root(one.location.resource) for one in reading)
    fronts = len(front_matter_starts(output.lines)) == roots
    left = [
        one
        for one in reading
        if not (fronts and is_root(one.location.resource))
        and line_index.match(one.key, output.lined) is None
    ]
    return left[0] if len(left) == 1 else None


def evidence_of_missing_file() -> ReadEvidence:
    """What such a file showed."""
    return ReadEvidence("none", None, ok=False, note=_NOTE)
