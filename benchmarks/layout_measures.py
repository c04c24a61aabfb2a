"""What a layout does to its source, read off the rendered text alone.

Nothing here knows the transform: the main path is what people labelled (`scope_labels.json`) or, elsewhere,
what words of titles say; rows are found by the files that they name, processes by the outline of the source,
duties by their words.
"""

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from skilljuror.audit.gates.routing import routes, rows_of
from skilljuror.base.skill import Bundle, is_markdown
from skilljuror.base.texts import count
from skilljuror.skill.markdown import markdown_index, read_text, visible_text
from skilljuror.skill.units import units_of

Row = dict[str, Any]

LABELS = Path(__file__).with_name("scope_labels.json")
STRONG = re.compile(
    r"\b(?:must|never|always|only|shall|do not|don['’]t|forbidden|mandatory|not allowed)\b"
    r"|\bNO\b.+\bWITHOUT\b|^no [a-z ]+ without\b",
    re.IGNORECASE,
)
"""Words of a strong duty, in capitals or plain."""
_NOT_ONLY = re.compile(r"[\w-]-only\b|\bonly-|\bnot only\b", re.IGNORECASE)
_PATH = re.compile(r"[\w@+./-]*/[\w@+./-]+|[\w@+-]+\.\w{1,4}\b")
_STEP = re.compile(r"(?:step|phase|stage|round)\s*(\d+)\b")
_PROCESS = re.compile(
    r"\b(?:workflow|process|procedure|steps|phases|stages|cycle|protocol|pipeline|how to|instructions)\b",
    re.IGNORECASE,
)
_MAIN = re.compile(
    r"\b(?:iron law|rules?|red flags|rationalizations|non-negotiable|must|never|always|prerequisites?"
    r"|set-?up|before you|when (?:not )?to use|workflow|process|steps?|phases?|checklist|decision tree"
    r"|overview|principles)\b",
    re.IGNORECASE,
)
"""Titles of sections that bind everybody, where nobody labelled them."""
_BRANCH = re.compile(
    r"\b(?:examples?|troubleshooting|faq|templates?|cheat ?sheet|api reference|glossary|appendix|recipes)\b",
    re.IGNORECASE,
)
"""The same for sections that some tasks need."""
PROSE_KINDS = frozenset({"statement", "item", "row"})
DISCLOSES = 2
"""Supporting pages that an author's root leads to, from which a source discloses."""
FITS_TOKENS, FITS_LINES = 4_000, 220
"""Size of a process from which it need not fit a root of 5,000 tokens and 300 lines."""
MOST_WORDS = 25
_REASON = re.compile(r"(?:\bWhy: |\.\w{1,4}: |, because )(.+)$")
_WORD = re.compile(r"[^\W\d_]{3,}")
_SETS = re.compile(r"^\s*(?:export\s+)?([A-Z][A-Z0-9_]{2,})=\S", re.MULTILINE)
_USES = re.compile(r"\$\{?([A-Z][A-Z0-9_]{2,})\b")


def measure(source: Bundle, variant: Bundle, place: Path) -> Row:
    """Every measure of one source, which is at `place`."""
    roots = sum(_tokens(source, skill.path) for skill in source.skills)
    ours = sum(_tokens(variant, skill.path) for skill in variant.skills)
    rows = list(_faulty_rows(source, variant))
    return {
        **_scopes(source, variant, place),
        "splits": list(_splits(source, variant)), "cut": list(_cut_processes(source, variant)),
        "undefined": list(_undefined(variant)), "rows": sum(1 for _ in _new_rows(source, variant)),
        "faulty": [f"{fault}: {text}" for fault, text in rows],
        "source root": roots, "root": ours, "discloses": _discloses(source),
        "pages": sum(map(is_markdown, variant.files)) - len(variant.skills),
    }  # fmt: skip


def _lines(bundle: Bundle, path: str) -> tuple[str, ...]:
    text = read_text(bundle.files[path])
    return text.lines if text else ()


def _tokens(bundle: Bundle, path: str) -> int:
    return count("\n".join(_lines(bundle, path)))


@lru_cache(maxsize=1 << 16)
def _key(text: str) -> str:
    """A text as words, so that marks and paths that moved make no difference."""
    return " ".join(re.findall(r"\w+", _PATH.sub(" ", text).casefold()))


# Main path and branches


class _Label(NamedTuple):
    main: frozenset[str]
    branch: frozenset[str]


@cache
def _labels() -> dict[str, _Label]:
    stored = json.loads(LABELS.read_text(encoding="utf-8"))
    return {
        name: _Label(
            frozenset(map(_key_whole, one["main"])), frozenset(map(_key_whole, one["branch"]))
        )
        for name, one in stored.items()
        if name != "about"
    }


def _scopes(source: Bundle, variant: Bundle, place: Path) -> Row:
    """Duties of the main path that the root keeps, and duties of a branch that are in one file."""
    label = next((one for name, one in _labels().items() if str(place).endswith(f"/{name}")), None)
    homes: dict[str, set[str]] = defaultdict(set)
    for path, text in _said(variant, filter(is_markdown, variant.files)):
        homes[_key(text)].add(path)
    roots = {skill.path for skill in variant.skills}
    row: Row = {"labelled": label is not None, "main lost": [], "branch parted": []}
    found: Counter[str] = Counter()
    for section, duties in _duties_by_section(source):
        main, branch = _scope_of(section, label)
        here = Counter(path for text in duties for path in homes[_key(text)])
        if main:
            kept = [text for text in duties if homes[_key(text)] & roots]
            found["main"] += len(duties)
            found["main kept"] += len(kept)
            row["main lost"] += sorted({*duties} - {*kept})
        elif branch and duties:
            home = max(sorted(here), key=here.__getitem__, default="")
            together = [text for text in duties if home in homes[_key(text)]]
            found["branch"] += len(duties)
            found["branch together"] += len(together)
            row["branch parted"] += sorted({*duties} - {*together})
    return row | {name: found[name] for name in ("main", "main kept", "branch", "branch together")}


def _scope_of(titles: Sequence[str], label: _Label | None) -> tuple[bool, bool]:
    """Whether a section is main path, and whether it is a branch, by the titles above its text."""
    if label is not None:
        return not label.main.isdisjoint(titles), not label.branch.isdisjoint(titles)
    own = titles[1:]
    branch = any(map(_BRANCH.search, own))
    return bool(own) and not branch and bool(_MAIN.search(own[0])), branch


def _duties_by_section(source: Bundle) -> Iterator[tuple[tuple[str, ...], list[str]]]:
    """(titles from the page's down, strong duties) of each smallest section of the roots."""
    for skill in source.skills:
        sections = _sections(source, skill.path)
        texts = _units_at(source, skill.path)
        for number, section in enumerate(sections):
            own_end = sections[number + 1].start if number + 1 < len(sections) else section.end
            above = [one for one in sections[: number + 1] if one.start <= section.start < one.end]
            duties = [
                text
                for line, text in texts
                if section.start < line <= own_end and STRONG.search(_NOT_ONLY.sub(" ", text))
            ]
            yield tuple(one.title for one in above), duties


def _units_at(bundle: Bundle, path: str) -> list[tuple[int, str]]:
    return [
        (unit.start, unit.text)
        for unit in units_of(bundle)
        if unit.file == path and unit.kind in PROSE_KINDS and not unit.generated
    ]


def _said(bundle: Bundle, paths: Iterable[str]) -> Iterator[tuple[str, str]]:
    wanted = set(paths)
    for unit in units_of(bundle):
        if unit.file in wanted and unit.kind in PROSE_KINDS and not unit.generated:
            yield unit.file, unit.text


def _key_whole(text: str) -> str:
    return " ".join(re.findall(r"\w+", visible_text(text).casefold()))


# Processes


@dataclass
class Section:
    """A heading with what stands below it."""

    page: str
    start: int
    end: int
    level: int
    title: str
    words: Counter[str]
    children: list["Section"] = field(default_factory=list)


def _sections(bundle: Bundle, path: str) -> list[Section]:
    """Every section of a page in order; 0-based lines, end exclusive, subsections included."""
    lines = _lines(bundle, path)
    headings = markdown_index(lines).headings
    found: list[Section] = []
    for number, heading in enumerate(headings):
        later = (one.start for one in headings[number + 1 :] if one.level <= heading.level)
        end = next(later, len(lines))
        own = headings[number + 1].start if number + 1 < len(headings) else len(lines)
        words = Counter(_key(line) for line in lines[heading.end : own] if _key(line))
        found.append(
            Section(path, heading.start, end, heading.level, _key_whole(heading.title), words)
        )
    for number, one in enumerate(found):
        inside = [other for other in found[number + 1 :] if other.start < one.end]
        least = min((other.level for other in inside), default=0)
        one.children = [other for other in inside if other.level == least]
    return found


def processes(sections: Iterable[Section]) -> Iterator[tuple[Section, list[Section]]]:
    """Sections whose children are steps in order: numbered as steps, named by the title above them,
    or below a title that says so. The title of a whole page says what it is about, not what is done."""
    for section in sections:
        steps = [one for one in section.children if _STEP.match(one.title)]
        numbers = [int(_STEP.match(one.title)[1]) for one in steps]  # type: ignore[index]
        if len(steps) > 1 and numbers == sorted(set(numbers)):
            yield section, steps
        elif section.level > 1 and (_PROCESS.search(section.title) or _spelled(section)):
            yield section, section.children


def _spelled(section: Section) -> bool:
    """Whether the words of a title are the first words of its steps in order, as in
    "Red-Green-Refactor"."""
    first = [one.title.split()[0] for one in section.children if one.title]
    words = section.title.split()
    return len(words) > 1 and words == [word for word in dict.fromkeys(first) if word in words]


def _splits(source: Bundle, variant: Bundle) -> Iterator[str]:
    """Steps that stand in another file than the one before, which has no pointer to it."""
    places: dict[str, list[Section]] = defaultdict(list)
    for path in filter(is_markdown, variant.files):
        for section in _sections(variant, path):
            places[section.title].append(section)
    outlines = (_sections(source, skill.path) for skill in source.skills)
    for parent, steps in (one for outline in outlines for one in processes(outline)):
        where = [(step, _place(step, places[step.title])) for step in steps]
        for (one, here), (other, there) in pairwise(where):
            parted = here and there and here.page != there.page
            if parted and not _points(variant, here, there, places[parent.title]):  # type: ignore[arg-type]
                yield f"{parent.title}: {one.title} | {other.title}"


def _place(step: Section, candidates: Sequence[Section]) -> Section | None:
    """Where a section of the source stands in the variant."""
    return max(candidates, key=lambda one: (one.words & step.words).total(), default=None)


def _points(variant: Bundle, here: Section, there: Section, parents: Sequence[Section]) -> bool:
    """Whether a line that names the next step's file stands in the step, or below it in its process. From a
    page opened on demand an agent returns to the root, which must lead to both pages in their order."""
    roots = [skill.path for skill in variant.skills]
    if there.page in roots:
        return True
    if here.page not in roots:
        starts = [
            min((row.start for row in rows_of(variant, root) if one.page in row.files), default=0)
            for root in roots
            for one in (here, there)
        ]
        return any(0 < a < b for a, b in zip(starts[::2], starts[1::2], strict=True))
    process = next(
        (one for one in parents if one.page == here.page and one.start < here.start), None
    )
    end = max(here.end, process.end if process else 0)
    rows = rows_of(variant, here.page)
    return any(there.page in row.files and here.start < row.start <= end for row in rows)


def _cut_processes(source: Bundle, variant: Bundle) -> Iterator[str]:
    """Processes of a root whose steps are in several files, though the process would fit a root."""
    places: dict[str, list[Section]] = defaultdict(list)
    for path in filter(is_markdown, variant.files):
        for section in _sections(variant, path):
            places[section.title].append(section)
    for skill in source.skills:
        lines = _lines(source, skill.path)
        for parent, steps in processes(_sections(source, skill.path)):
            start, end = steps[0].start if steps else 0, steps[-1].end if steps else 0
            small = end - start <= FITS_LINES and count("\n".join(lines[start:end])) <= FITS_TOKENS
            found = [_place(step, places[step.title]) for step in steps]
            files = {one.page for one in found if one}
            if small and len(files) > 1:
                yield f"{parent.title}: {', '.join(sorted(files))}"


# Names, rows, growth


def _undefined(variant: Bundle) -> Iterator[str]:
    """Variables that a root uses before any line leads to the page that sets them."""
    pages = {path: _lines(variant, path) for path in variant.files if is_markdown(path)}
    sets = {path: set(_SETS.findall("\n".join(lines))) for path, lines in pages.items()}
    for skill in variant.skills:
        rows = rows_of(variant, skill.path)
        uses = (
            (number, name)
            for number, line in enumerate(pages[skill.path], 1)
            for name in sorted(set(_USES.findall(line)) - sets[skill.path])
        )
        for number, name in uses:
            holders = {path for path, names in sets.items() if name in names}
            led = {path for row in rows if row.start <= number for path in row.files}
            if holders and holders.isdisjoint(led):
                yield f"{name} at line {number}"


def _new_rows(source: Bundle, variant: Bundle) -> Iterator[str]:
    """The lines of the variant's pages that lead to a file and that the source does not say."""
    said = {_key(line) for path in source.files for line in _lines(source, path)}
    for page in dict.fromkeys(routes(variant).values()):
        lines = _lines(variant, page)
        starts = dict.fromkeys(row.start for row in rows_of(variant, page) if row.start == row.end)
        own = (lines[start - 1] for start in starts)
        yield from (visible_text(line) for line in own if _key(line) not in said)


def _faulty_rows(source: Bundle, variant: Bundle) -> Iterator[tuple[str, str]]:
    examples = _example_text(source)
    for text in _new_rows(source, variant):
        reason = _REASON.search(text)
        told = text[: reason.start()] if reason else text
        if len(text.removeprefix("- ").split()) > MOST_WORDS:
            yield "long", text
        elif reason and not _new_words(reason[1], told):
            yield "circular", text
        elif reason and _key(reason[1]) and _key(reason[1]) in examples:
            yield "from an example", text


def _new_words(reason: str, told: str) -> bool:
    known = {word.casefold() for word in _WORD.findall(told)} | {"see", "for", "the", "and", "read"}
    return any(word.casefold() not in known for word in _WORD.findall(reason))


def _example_text(source: Bundle) -> str:
    """The words of blocks of code, and of sections that are examples by their title."""
    parts: list[str] = []
    for path in filter(is_markdown, source.files):
        lines = _lines(source, path)
        fences = (one for one in markdown_index(lines).blocks if one.kind == "fence")
        parts += [_key(" ".join(lines[one.start + 1 : one.end - 1])) for one in fences]
        shown = (one for one in _sections(source, path) if one.title.startswith("example"))
        parts += [_key(" ".join(lines[one.start : one.end])) for one in shown]
    return "\n".join(parts)


def _discloses(source: Bundle) -> bool:
    leads = routes(source)
    roots = {skill.path for skill in source.skills}
    return sum(is_markdown(path) for path in leads if path not in roots) >= DISCLOSES
