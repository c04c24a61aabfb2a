"""`cat a b 2>/dev/null` that fails: one of the files is missing, and nothing says which."""

import re

from skilljuror.attribution.evidence.line_index import Fingerprints
from skilljuror.attribution.evidence.output_segments import front_matters
from skilljuror.attribution.evidence.read_evidence import Output, Shown
from skilljuror.attribution.resolution.resolver import Claim
from skilljuror.attribution.run_context import Touch
from skilljuror.models.resource_class import is_root

_HUSHED = re.compile(r"\s2>\s*/dev/null\s*\Z")
_SEVERAL = re.compile(r"[;|\n]|&&")
_NOTE = "the command failed, its complaint was hidden, and the other files are all shown"


def missing_one(touch: Touch, output: Output, prints: Fingerprints) -> Claim | None:
    """The only file of a failed command that the output does not show; None where several may be
    the missing one."""
    command = (touch.call.command or "").strip()
    if output.ok is not False or not output.lines or not _HUSHED.search(command):
        return None
    reading = [one for one in touch.claims if one.access.kind == "read" and one.access.shown]
    if len(reading) < 2 or len(reading) != len(touch.claims) or _SEVERAL.search(command):
        return None
    roots = sum(is_root(one.location.resource) for one in reading)
    fronts = len(front_matters(output.lines)) == roots
    left = [
        one
        for one in reading
        if not (fronts and is_root(one.location.resource))
        and prints.match(one.key, output.lined) is None
    ]
    return left[0] if len(left) == 1 else None


def not_there() -> Shown:
    """What such a file showed."""
    return Shown("none", None, ok=False, note=_NOTE)
