"""Lines made by a generator, told from an author's by their grammar.

Only templates whose fixed words name them are recognised here. A line such as "# {title}" can be
anybody's: whether it was made is judged in `origin` against the parent. The in-band protocol of
embedded files is understood in the spellings of other tools too, so that variants made elsewhere
can be read.
"""

import re

from skilljuror.knowledge.generated.embedded_files import MARKER_PHRASES
from skilljuror.knowledge.generated.templates import TEMPLATES, recognise_template

MARKER = "marker"
CONFIGURATION = "configuration"
_NAMED = frozenset({CONFIGURATION, "directory", "routing-lead"})
_HEADINGS = {TEMPLATES[name].lstrip("# "): name for name in ("contents", "routing", "shared")}
_MARKER = re.compile(rf"^(?:#{{1,6}}\s+)?(?:{'|'.join(MARKER_PHRASES)}) `([^`]+)`:?$")


def template_of_line(line: str) -> str | None:
    """Name of the template whose grammar `line` follows, or None for any other line."""
    line = line.strip()
    if _MARKER.match(line):
        return MARKER
    name = recognise_template(line)
    return name if name in _NAMED or (name or "").startswith("row-") else None


def template_of_heading(text: str) -> str | None:
    """Name of the template of a heading whose words are fixed; authors write such headings too,
    so it counts as made only where the other side does not have it."""
    return _HEADINGS.get(text)


def marker_path(line: str) -> str | None:
    """The path of the file that a marker line announces, or None for any other line."""
    marker = _MARKER.match(line.strip())
    return marker.group(1) if marker else None
