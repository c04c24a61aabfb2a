"""What a root uses is defined in it, or in a page that is opened before."""

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from skilljuror.audit.comparison.shell_names import names_set, names_used
from skilljuror.audit.gates.findings import Observation
from skilljuror.audit.gates.routing import FileRow, rows_of
from skilljuror.base.skill import Bundle, is_markdown
from skilljuror.skill.generated import POINTERS, own_lines, template_of_line
from skilljuror.skill.markdown import markdown_index, read_text, visible_text

_STEP = re.compile(r"\b((?:step|phase|stage) \d{1,2}[a-z]?)\b", re.IGNORECASE)
_ABOVE = re.compile(
    r"\bthe ([a-z][a-z-]{2,20})(?: section| step| commands?)? above\b", re.IGNORECASE
)
_WRITTEN = re.compile(
    r"(?:(?<![-=<>])>{1,2}|(?<![\w-])(?:-o|--out(?:put)?)[ =]|\btee (?:-a )?)\s?([\w./-]*[\w-]\.[a-z]\w{0,5})\b"
)
_FILE = re.compile(r"(?<![\w/.-])([\w./-]*[\w-]\.[a-z]\w{0,5})\b")
_MARKS = re.compile(r"^[\s>#*_\d.)\[\]x-]*")


class _Page(NamedTuple):
    """What a page defines."""

    names: frozenset[str]  # variables that its commands set
    files: frozenset[str]  # files that its commands write
    steps: frozenset[str]  # what its headings count, as "step 0"
    titles: frozenset[str]  # the words of its headings


def prerequisite_observations(parent: Bundle, variant: Bundle) -> Iterator[Observation]:
    """Yield the first use of each variable, file, step or section that a root of the parent defines in its
    own text, and the variant in a page to which no line before the use leads.

    What the parent's roots do not define either is inherited.
    """
    roots = [skill.path for skill in variant.skills]
    pages = {
        path: _page(_lines(variant, path))
        for path in variant.files
        if is_markdown(path) and path not in roots
    }
    known = [_page(own_lines(_lines(parent, skill.path))) for skill in parent.skills]
    for root in roots if pages else ():
        rows, lines = rows_of(variant, root), _lines(variant, root)
        for used, number, line in _undefined_uses(lines):
            holders = [path for path, page in pages.items() if _defines(page, used)]
            leading = (row for row in rows if row.start <= number or _announces(row, lines, used))
            opened = {path for row in leading for path in row.files}
            defined = any(_defines(page, used) for page in known)
            if holders and defined and opened.isdisjoint(holders):
                yield _observation(used, root, number, line, holders[0])


def _announces(row: FileRow, lines: tuple[str, ...], used: tuple[str, str]) -> bool:
    """Whether a line behind the use says where a step is: it names the step, or stands where the step was.
    Steps are named ahead, variables are not."""
    kind, name = used
    in_place = template_of_line(lines[row.start - 1]) in POINTERS
    return kind == "step" and (in_place or name in row.text.casefold())


def _undefined_uses(lines: tuple[str, ...]) -> Iterator[tuple[tuple[str, str], int, str]]:
    """(what, line number, line) of the first use of each thing that a page does not define."""
    own = _page(lines)
    seen: set[tuple[str, str]] = set()
    for number, line in enumerate(lines, 1):
        for used in _used(line):
            if used not in seen and not _defines(own, used):
                yield used, number, line
            seen.add(used)


def _observation(
    used: tuple[str, str], root: str, number: int, line: str, holder: str
) -> Observation:
    kind, name = used
    message = f"the root uses the {kind} {name!r}, which only {holder!r} defines"
    return Observation("layout.prerequisite", used, root, number, line.strip(), message)


def _lines(bundle: Bundle, path: str) -> tuple[str, ...]:
    text = read_text(bundle.files[path])
    return text.lines if text else ()


def _page(lines: tuple[str, ...]) -> _Page:
    text = "\n".join(lines)
    titles = [visible_text(one.title).casefold() for one in markdown_index(lines).headings]
    starts = [match[1] for title in titles if (match := _STEP.match(_MARKS.sub("", title)))]
    leads = (_STEP.match(_MARKS.sub("", line)) for line in lines)
    steps = {*starts, *(match[1].casefold() for match in leads if match)}
    words = {word for title in titles for word in re.findall(r"[a-z][a-z-]{2,20}", title)}
    return _Page(
        names_set(text), frozenset(_WRITTEN.findall(text)), frozenset(steps), frozenset(words)
    )


def _used(line: str) -> Iterable[tuple[str, str]]:
    """(kind, name) of what a line uses."""
    yield from (("variable", name) for name in sorted(names_used(line)))
    yield from (("file", name) for name in _FILE.findall(line) if "." in name)
    yield from (("step", match[1].casefold()) for match in _STEP.finditer(line))
    yield from (("section", match[1].casefold()) for match in _ABOVE.finditer(line))


def _defines(page: _Page, used: tuple[str, str]) -> bool:
    kind, name = used
    held = {"variable": page.names, "file": page.files, "step": page.steps, "section": page.titles}
    return name in held[kind]
