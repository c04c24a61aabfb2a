"""What a layout does to its source, read off the rendered text alone.

Nothing here knows the transform: rows are found by the files they name, processes by the outline
of the source, duties by their words.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import pairwise
from pathlib import Path, PurePosixPath
from typing import Any

from skilljuror.knowledge.comparison.file_rows import FileRow, routes, rows_of
from skilljuror.knowledge.comparison.row_fit import FUNCTION_WORDS, Ranking, stems
from skilljuror.knowledge.markdown.block_index import markdown_index, visible_text
from skilljuror.knowledge.markdown.text_file import read_text
from skilljuror.knowledge.units.extract import units_of
from skilljuror.models.bundle import Bundle
from skilljuror.models.resource_class import is_markdown
from skilljuror.tokens import count

Row = dict[str, Any]

STRONG = re.compile(
    r"\b(?:must|never|always|only|shall|do not|don['’]t|forbidden|mandatory|not allowed)\b"
    r"|\bNO\b.+\bWITHOUT\b|^no [a-z ]+ without\b",
    re.IGNORECASE,
)
"""Words of a strong duty, in capitals or plain."""
_NOT_ONLY = re.compile(r"[\w-]-only\b|\bonly-|\bnot only\b", re.IGNORECASE)
_PATH = re.compile(r"[\w@+./-]*/[\w@+./-]+|[\w@+-]+\.\w{1,4}\b")
_PROSE = re.compile(r"[A-Za-z][\w ,.'’:;!?/\"“”&–—-]{14,}")
_MARKS = re.compile(r"^\s*(?:(?:[-*+>#]+|//+|\d{1,3}[.)])\s*)+")
_CUE = re.compile(r"(?:\bWhy: |: read when this applies: |, because )(.+)$")
_STOP = re.compile(r"[.!?:;…]+[\"'”’)*_`\]]*\s|\s[–—-]\s|\s[(\[]|\|")
_STEP = re.compile(r"(?:step|phase|stage|round)\s*(\d+)\b")
_PROCESS = re.compile(
    r"\b(?:workflow|process|procedure|steps|phases|stages|cycle|protocol|pipeline|how to|instructions)\b",
    re.IGNORECASE,
)
PROSE_KINDS = frozenset({"statement", "item", "row"})
DANGLING = FUNCTION_WORDS - frozenset({
    "about", "across", "after", "all", "also", "any", "before", "do", "did", "does", "done",
    "each", "either", "else", "every", "had", "has", "have", "here", "how", "it", "just", "may",
    "more", "most", "near", "no", "not", "off", "on", "one", "only", "other", "our", "out",
    "over", "same", "since", "so", "some", "such", "them", "then", "there", "these", "they",
    "this", "those", "through", "too", "under", "up", "us", "use", "used", "very", "we", "what",
    "when", "where", "while", "who", "why", "within", "without", "you", "was", "were", "be",
    "been", "is", "are", "can", "could", "should", "will", "would", "if", "until", "in", "by",
})  # fmt: skip
"""Function words at which no sentence ends; "by", "in" and the like may."""
CUE_WORDS = 3
"""Words from which a cue is looked up in the source."""
DISCLOSES = 2
"""Supporting pages that an author's root leads to, from which its rows are compared with ours."""


def measure(source: Bundle, variant: Bundle, instruction: str | None) -> Row:
    """Every measure of one source."""
    kept, duties = _duties(source, variant)
    named, titles = _titles(variant)
    lost = [title for path, title in titles if (path, title) not in named]
    roots = sum(_tokens(source, skill.path) for skill in source.skills)
    ours = sum(_tokens(variant, skill.path) for skill in variant.skills)
    row: Row = {
        "duties": len(duties), "duties kept": len(kept),
        "duties moved": sorted(set(duties) - set(kept)),
        "titles": len(titles), "titles named": len(named), "titles unnamed": lost,
        "splits": list(_splits(source, variant)), **_cues(source, variant),
        "source root": roots, "root": ours,
        "pages": sum(map(is_markdown, variant.files)) - len(variant.skills),
    }  # fmt: skip
    return row | _routing(source, variant, instruction)


def _lines(bundle: Bundle, path: str) -> tuple[str, ...]:
    text = read_text(bundle.files[path])
    return text.lines if text else ()


def _tokens(bundle: Bundle, path: str) -> int:
    return count("\n".join(_lines(bundle, path)))


@lru_cache(maxsize=1 << 16)
def _key(text: str) -> str:
    """A text as words, so that marks and paths that moved make no difference."""
    return " ".join(re.findall(r"\w+", _PATH.sub(" ", text).casefold()))


# Duties


def _duties(source: Bundle, variant: Bundle) -> tuple[list[str], list[str]]:
    """Strong duties that the variant's root keeps, and those of the source's root."""
    duties = [text for text in _said(source) if STRONG.search(_NOT_ONLY.sub(" ", text))]
    held = Counter(_key(text) for text in _said(variant))
    kept = []
    for text in duties:
        if held[_key(text)]:
            held[_key(text)] -= 1
            kept.append(text)
    return kept, duties


def _said(bundle: Bundle) -> Iterator[str]:
    """What the roots of a bundle say: statements, items, rows, and prose in a fence of no language."""
    roots = {skill.path for skill in bundle.skills}
    for unit in units_of(bundle):
        if unit.file in roots and unit.kind in PROSE_KINDS and not unit.generated:
            yield unit.text
    for path in sorted(roots):
        tokens = markdown_index(_lines(bundle, path)).tokens
        plain = (one.content for one in tokens if one.type == "fence" and not one.info.strip())
        lines = (line for content in plain for line in content.split("\n"))
        yield from (line for line in lines if _PROSE.fullmatch(line.strip()))


# Titles


def _titles(variant: Bundle) -> tuple[set[tuple[str, str]], set[tuple[str, str]]]:
    """(page, title) of the H1 and H2 of every supporting page: those that its rows name, and all."""
    leads = routes(variant)
    roots = {skill.path for skill in variant.skills}
    every: set[tuple[str, str]] = set()
    named: set[tuple[str, str]] = set()
    for path in (path for path in variant.files if is_markdown(path) and path not in roots):
        name = re.compile(rf"[\w./-]*{re.escape(PurePosixPath(path).name)}", re.IGNORECASE)
        texts = (name.sub(" ", row.text) for row in _rows_to(variant, leads.get(path), path))
        rows = " | ".join(map(_key_whole, texts))
        titles = set(_chapters(variant, path))
        every |= {(path, title) for title in titles}
        named |= {(path, title) for title in titles if f" {_key_whole(title)} " in f" {rows} "}
    return named, every


def _chapters(variant: Bundle, path: str) -> Iterator[str]:
    """The H1 and H2 of a page, but for the table of contents that a build may write."""
    for heading in markdown_index(_lines(variant, path)).headings:
        title = visible_text(heading.title)
        if heading.level <= 2 and title != "Contents" and _key_whole(title):
            yield title


def _key_whole(text: str) -> str:
    return " ".join(re.findall(r"\w+", visible_text(text).casefold()))


def _rows_to(bundle: Bundle, page: str | None, path: str) -> Sequence[FileRow]:
    return [row for row in rows_of(bundle, page) if path in row.files] if page else []


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
    """Whether a line that names the next step's file stands in the step, or below it in its process."""
    process = next(
        (one for one in parents if one.page == here.page and one.start < here.start), None
    )
    end = max(here.end, process.end if process else 0)
    rows = rows_of(variant, here.page)
    return any(there.page in row.files and here.start < row.start <= end for row in rows)


# Cues


def _cues(source: Bundle, variant: Bundle) -> Row:
    said = _Said(source)
    cues: dict[str, list[str]] = defaultdict(list)
    bad: list[str] = []
    for page in dict.fromkeys(routes(variant).values()):
        for row in rows_of(variant, page):
            match = _CUE.search(row.text)
            if match:
                cues[match[1]].append(row.files[0])
                fault = _fault(match[1], said)
                bad += [f"{fault}: {match[1]}"] if fault else []
    shared = [f"shared by {len(files)}: {cue}" for cue, files in cues.items() if len(files) > 1]
    return {
        "cues": sum(map(len, cues.values())), "cues cut": bad, "cues shared": shared,
        "cues in shared": sum(len(files) for files in cues.values() if len(files) > 1),
    }  # fmt: skip


def _fault(cue: str, said: "_Said") -> str | None:
    """What is wrong with the end of a cue."""
    last = cue.rstrip(" .:;,*_`")
    word = re.search(r"[^\W_]+$", last)
    if cue.endswith(("…", "...")):
        return "cut"
    if word and word[0] in DANGLING and not cue.endswith((".", "!", "?")):
        return "function word"
    if cue.count("(") > cue.count(")") or cue.count("`") % 2:
        return "open bracket"
    return "mid-phrase" if said.goes_on_after(cue) else None


class _Said:
    """The sentences of a source's text files, to tell where a cue was taken from."""

    def __init__(self, source: Bundle) -> None:
        parts = []
        for path in source.files:
            block: list[str] = []
            for line in (*_lines(source, path), ""):
                bare = _MARKS.sub("", line).strip()
                fresh = not bare or (bare[0].isupper() if _comment(line) else bare != line.strip())
                if fresh and block:
                    parts.append(" ".join(block))
                    block = []
                block += [bare] if bare else []
            if block:
                parts.append(" ".join(block))
        stops = (_STOP.sub(" \x01 ", f"{visible_text(part)} ") for part in parts)
        self.text = "\x01".join(
            " ".join(re.findall(r"\w+|\x01", part.casefold())) + " " for part in stops
        )

    def goes_on_after(self, cue: str) -> bool:
        """Whether the source says the cue's words, and every time more in the same sentence."""
        words = " ".join(re.findall(r"\w+|\x01", _STOP.sub(" \x01 ", f"{cue} ").casefold()))
        words = words.removesuffix("\x01").strip()
        if len(words.split()) < CUE_WORDS:
            return False
        found = [
            match.end() for match in re.finditer(rf"(?<!\w){re.escape(words)}(?!\w)", self.text)
        ]
        return bool(found) and all(
            self.text[end:].lstrip(" ")[:1] not in {"", "\x01"} for end in found
        )


def _comment(line: str) -> bool:
    return re.match(r"\s*(?:#|//|--)\s", line) is not None


# Routing


class Routes:
    """The rows of a bundle as an agent meets them: a page, its rows, the pages that they lead to."""

    def __init__(self, bundle: Bundle) -> None:
        self.leads = routes(bundle)
        texts: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
        for page in dict.fromkeys(self.leads.values()):
            for row in rows_of(bundle, page):
                for path in row.files:
                    texts[page][path] += stems(row.text)
        self.rankings = {page: Ranking(rows) for page, rows in texts.items()}

    def place(self, path: str, query: Sequence[str]) -> int | None:
        """The worst place of the rows on the way to a file; 0 where there is nothing to choose from,
        None where no row leads on."""
        worst, open_to_choice = 1, False
        while path in self.leads:
            page = self.leads[path]
            ranking = self.rankings[page]
            if len(ranking.names) > 1:
                open_to_choice = True
                place = ranking.rank(path, query)
                if place is None:
                    return None
                worst = max(worst, place)
            path = page
        return worst if open_to_choice else 0


def _routing(source: Bundle, variant: Bundle, instruction: str | None) -> Row:
    ours, authors = Routes(variant), Routes(source)
    roots = {skill.path for skill in source.skills}
    queries = _moved(source, {path for path in authors.leads if path not in roots})
    discloses = len({path for path, _ in queries}) >= DISCLOSES
    moved = _moved(variant, set(variant.files) - {skill.path for skill in variant.skills})
    theirs = Counter(text for _, text in queries)
    row: Row = {
        "units": _places(ours, moved),
        "discloses": discloses,
        "authors": _places(authors, queries) if discloses else _NONE,
        "ours there": _places(ours, [one for one in moved if one[1] in theirs]) if discloses else _NONE,
    }  # fmt: skip
    if instruction is not None:
        row["task"] = _for_task(variant, ours, stems(instruction))
    return row


_NONE = (0, 0, 0)


def _moved(bundle: Bundle, files: set[str]) -> list[tuple[str, str]]:
    """(file, text) of what supporting pages say in prose."""
    return [
        (unit.file, unit.text)
        for unit in units_of(bundle)
        if unit.file in files and unit.kind in PROSE_KINDS and not unit.generated
        and is_markdown(unit.file) and len(set(stems(unit.text))) > 1
    ]  # fmt: skip


def _places(routes_: Routes, queries: Iterable[tuple[str, str]]) -> tuple[int, int, int]:
    """(queries with a choice, right file first, right file in the first three)."""
    places: list[int | None] = []
    for path, text in queries:
        place = routes_.place(path, stems(text)) if path in routes_.leads else None
        places += [] if place == 0 else [place]
    known = [place for place in places if place]
    return len(places), sum(one == 1 for one in known), sum(one <= 3 for one in known)


def _for_task(variant: Bundle, ours: Routes, query: Sequence[str]) -> int | None:
    """Place of the row of the page whose own text fits a task's instruction best; 0 where there is
    nothing to choose, None where no row shares a word with the instruction."""
    pages = {
        path: stems("\n".join(_lines(variant, path))) for path in ours.leads if is_markdown(path)
    }
    scores = Ranking(pages).scores(query)
    if not scores:
        return 0
    best = max(sorted(scores), key=lambda path: scores[path])
    return ours.place(best, query)


def instruction_of(source: Path) -> str | None:
    """The instruction of the task that a source belongs to; None where it belongs to none."""
    for folder in (source, *source.parents[:4]):
        if (folder / "instruction.md").is_file():
            return (folder / "instruction.md").read_text(encoding="utf-8", errors="replace")
    return None
