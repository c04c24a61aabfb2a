"""The closed set of lines that a plan may generate. Everything else is copied.

A template is one line with named holes, filled with words, paths and headings of the source, or a count.
The same table makes the lines and recognises them, by their fixed words: a line such as "# {title}" is
not recognised, because anybody can write it. Marker spellings of other tools are recognised too, to read
variants made elsewhere.
"""

import re
from collections.abc import Mapping
from functools import lru_cache

from skilljuror.base.errors import TransformError

TEMPLATES: dict[str, str] = {
    "blank": "",
    "rule": "---",
    "field-name": "name: {name}",
    "field-description": "description: {description}",
    "skill-title": "# {title}",
    "configuration": "Configuration for `{path}`:",
    "directory": "Run the commands of this section from the `{path}` directory.",
    "shared": "# Shared material",
    "marker": "{hashes} {kind} `{path}`",
    "write-out": "Write this file to `{path}` in the folder of this SKILL.md before you run anything that uses it.",
    "fence-open": "{fence}{info}",
    "fence-close": "{fence}",
    "closer": "{line}",
    "definition": "{line}",
    "routing": "## Supporting files",
    "routing-lead": "Open a file when its row fits the step at hand; paths start at this folder.",
    "row-guide": "- [{path}]({link}): read first when the task involves {topics}.",
    "row-guide-why": "- [{path}]({link}): read first when the task involves {topics}. Why: {cue}",
    "row-guide-folders": "- [{path}]({link}): read first when the task involves {topics}; it tells when to open a file of {folders}.",
    "row-guide-folders-why": "- [{path}]({link}): read first when the task involves {topics}; it tells when to open a file of {folders}. Why: {cue}",
    "row-read": "- [{path}]({link}): read when the task involves {topics}.",
    "row-read-why": "- [{path}]({link}): read when the task involves {topics}. Why: {cue}",
    "row-trigger": "- [{path}]({link}): open this file when {when}, because {why}.",
    "row-at": "When the task involves {topics}, read [{path}]({link}).",
    "row-at-why": "When the task involves {topics}, read [{path}]({link}): {cue}",
    "row-next": "[{path}]({link}): continue here for {topics}.",
    "row-call": "- `{path}`: use when a step calls it.",
    "row-call-why": "- `{path}`: use when a step calls it. Why: {cue}",
    "row-folder": "- `{path}/` ({count} files: {names}): use one when a step names it.",
    "row-folder-read": "- `{path}/` ({count} files: {names}): read the one whose name fits the task.",
    "row-data": "- `{path}`: data; use when a step or a script names it.",
    "row-data-folder": "- `{path}/` ({count} files: {names}): data; use when a step or a script names it.",
    "row-terms": "- `{path}`: terms of use.",
    "reference-title": "# {title}",
    "filler": "{line}",
    "contents": "## Contents",
    "contents-row": "- {title}",
    "contents-lead": "Go to a section, or open a file, when its row fits the step at hand; paths start at this folder.",
}
"""name -> line. Rows of the routing table start with "row-"."""

POINTERS = frozenset({"row-at", "row-at-why", "row-next"})
"""Lines that stand where the text that they lead to was."""
MARKER_PHRASES = (
    "Helper implementation for",
    "Helper contract from",
    "Reference content from",
    "Configuration content from",
    "Template content from",
    "Support content from",
)
"""The words of markers."""
MARKER = "marker"
CONFIGURATION = "configuration"
DIRECTORY = "directory"
WRITE_OUT = "write-out"

ANONYMOUS_TEMPLATES = frozenset({"blank", "rule", "fence-close", "closer", "definition", "filler"})
"""Templates that cannot be recognised: punctuation, copies, filler. A plan with "filler" is never proved."""
UNSOURCED_HOLES = frozenset({"count", "hashes", "fence", "kind", "info", "link", "when", "why"})
"""Holes without words of the source: counts, marks, links made of paths, and the halves of a trigger, which
`trigger_sentences` checks."""

_HOLE = re.compile(r"\{([a-z]+)\}")


def fill_template(template: str, params: Mapping[str, str]) -> str:
    """Return the generated line. Raises TransformError for an unknown template or a wrong hole."""
    pattern = TEMPLATES.get(template)
    if pattern is None:
        raise TransformError(
            f"unknown template {template!r}; choose one of {', '.join(sorted(TEMPLATES))}"
        )
    holes = set(_HOLE.findall(pattern))
    if holes != set(params) or any("\n" in value for value in params.values()):
        raise TransformError(
            f"template {template!r} takes one line for each of {sorted(holes)}, not {sorted(params)}"
        )
    return _HOLE.sub(lambda hole: params[hole[1]], pattern)


@lru_cache(maxsize=1 << 15)
def recognise_template(line: str) -> str | None:
    """Return the template that may have made a line, or None; punctuation counts as generated."""
    stripped = line.strip()
    if not stripped:
        return "blank"
    for name in _BY_LENGTH:
        if name not in ANONYMOUS_TEMPLATES and name != "fence-open" and _fits(name, line):
            return name
    if stripped in {"---", "-->", "?>", ">", "]]>"} or stripped.startswith(("```", "~~~", "</")):
        return "fence-close"
    return None


@lru_cache(maxsize=len(TEMPLATES))
def _literals(name: str) -> tuple[str, ...]:
    return tuple(_HOLE.split(TEMPLATES[name])[::2])


def _fits(name: str, line: str) -> bool:
    """Whether the literal parts of a template occur in the line, in order, edge to edge."""
    parts = _literals(name)
    if len(parts) == 1:
        return line == parts[0]
    if not line.startswith(parts[0]) or not line.endswith(parts[-1]):
        return False
    place = len(parts[0])
    for part in parts[1:-1]:
        place = line.find(part, place)
        if place < 0:
            return False
        place += len(part)
    return place <= len(line) - len(parts[-1])


_BY_LENGTH = sorted(TEMPLATES, key=lambda name: (-sum(map(len, _literals(name))), name))

_NAMED = frozenset({CONFIGURATION, DIRECTORY, WRITE_OUT, "routing-lead", "contents-lead"})
_HEADINGS = {TEMPLATES[name].lstrip("# "): name for name in ("contents", "routing", "shared")}
_MARKER_LINE = re.compile(rf"^(?:#{{1,6}}\s+)?(?:{'|'.join(MARKER_PHRASES)}) `([^`]+)`:?$")


def template_of_line(line: str) -> str | None:
    """Return the name of the template with fixed words that made a line; None for any other line."""
    line = line.strip()
    if _MARKER_LINE.match(line):
        return MARKER
    name = recognise_template(line)
    return name if name in _NAMED or (name or "").startswith("row-") else None


def template_of_heading(text: str) -> str | None:
    """Return the template of a heading with fixed words. Authors write such headings too, so it counts as
    generated only if the other side does not have it."""
    return _HEADINGS.get(text)


def marker_path(line: str) -> str | None:
    """Return the path of the file in a marker line; None for any other line."""
    marker = _MARKER_LINE.match(line.strip())
    return marker[1] if marker else None


def directory_path(line: str) -> str | None:
    """Return the folder in a line that names a working folder; None for any other line."""
    return _path_in(DIRECTORY, line)


def announced_path(line: str) -> str | None:
    """Return the path in a line that says to write out a file; None for any other line."""
    return _path_in(WRITE_OUT, line)


def _path_in(name: str, line: str) -> str | None:
    opening, closing = _literals(name)
    return line[len(opening) : -len(closing)] if _fits(name, line) else None
