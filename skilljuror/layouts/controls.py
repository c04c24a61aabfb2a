"""Controls, which omit knowledge on purpose: placebo-irrelevant, placebo-unrouted and without:TITLE."""

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import count, takewhile
from pathlib import PurePosixPath
from typing import Any, ClassVar

from msgspec import structs

from skilljuror.base.errors import TransformError
from skilljuror.base.files import sha256
from skilljuror.base.skill import (
    Bundle,
    Copy,
    Generated,
    Omitted,
    Plan,
    PlannedFile,
    Substitution,
    is_licence,
    is_markdown,
)
from skilljuror.base.texts import weight
from skilljuror.layouts.editing import is_local, rewrite_links, split_target
from skilljuror.layouts.sections import (
    FlatSkill,
    LineRange,
    SectionNode,
    flat_skill,
    page_plan,
    ranges_of,
)
from skilljuror.skill.generated import POINTERS, TEMPLATES, EmbeddedFile, template_of_line
from skilljuror.skill.markdown import markdown_index, visible_text


class IrrelevantPlacebo:
    """The baseline's frontmatter, so that it is offered and opened alike, over irrelevant text.

    The body has the same outline and length, and says nothing about any task.
    """

    variant: ClassVar[str] = "placebo-irrelevant"
    parent: ClassVar[str] = "baseline"
    stands_for: ClassVar[str] = "baseline"
    expected: ClassVar[tuple[str, ...]] = ("edit.*", "hygiene.empty-heading")

    def plan(self, parent: Bundle, params: dict[str, Any]) -> Plan:
        """Return the plan; data next to the page is dropped because it is informative, licences stay,
        pages that are not on it get filler of their own."""
        flat = flat_skill(parent, self.variant)
        skip = flat.markdown.frontmatter_lines
        headings = {heading.start - skip for heading in flat.markdown.headings}
        pieces: list[Copy | Generated] = [
            Copy(flat.path, 1, skip),
            *_filler(flat.lines[skip:], headings),
        ]
        others = [path for path in parent.files if path != flat.path and not is_licence(path)]
        pages = [path for path in others if is_markdown(path) and parent.files[path].text]
        plan = page_plan(
            flat,
            (self.variant, self.parent),
            pieces,
            sidecars={path: path for path in parent.files if is_licence(path)},
            dropped={path: "not of the placebo" for path in others if path not in pages},
            notes=("a control: it omits all that its parent says",),
        )
        for path in pages:
            text, markdown = flat.texts.text(path), flat.texts.markdown(path)
            pieces = [*_filler(text.lines, {heading.start for heading in markdown.headings})]
            gone = (Omitted(path, number, line) for number, line in enumerate(text.lines, 1))
            plan = structs.replace(
                plan,
                files=(*plan.files, PlannedFile(path, tuple(pieces))),
                omitted=(*plan.omitted, *gone),
                flags=plan.flags | ({path: text.flags} if text.flags else {}),
            )
        return plan


def _filler(lines: Sequence[str], headings: Collection[int]) -> list[Generated]:
    return [Generated("filler", {"line": line}) for line in like(lines, headings)]


SUBJECTS = (
    "the old lighthouse", "a narrow harbour wall", "the evening ferry", "a row of painted boats",
    "the tide mill", "a flock of waders", "the salt marsh", "a grey seal", "the village bell",
    "a line of beach huts", "the long sandbank",
)  # fmt: skip
VERBS = (
    "stands beside", "looks across", "belongs to", "was drawn near", "keeps its distance from",
    "has long been known along", "lies quietly below", "can be seen from", "took its name from",
    "drifts slowly past", "rests against", "casts a shadow over", "reminds visitors of",
)  # fmt: skip
PLACES = (
    "the northern bay", "a field of sea lavender", "the wooden pier", "the chalk cliffs",
    "the fishing quarter", "a row of lime trees", "the winter moorings", "the shingle beach",
    "the abandoned railway", "the river mouth", "a small museum of shells", "the western headland",
    "the market square", "the lower meadows", "the boathouse", "a garden of tamarisk",
    "the ferry steps",
)  # fmt: skip
ENDS = (
    "in the early light", "after the autumn storms", "at the turn of the season",
    "on quiet afternoons", "under a pale sky", "in the memory of the older families",
    "through most of the winter",
)  # fmt: skip
HERDS = ("gulls", "boats", "dunes", "reeds", "tides", "herons", "limpets")
REST = ("rest", "linger", "gather here", "stay apart", "return by evening")
RESTS = ("rests", "lingers", "waits here", "stands apart", "waits for evening")
LONG_SENTENCE = 13.0  # minimum remaining weight for a long sentence; the lightest weighs 12
SHORT_SENTENCE = 4.0  # minimum remaining weight for one more short sentence


_VOCABULARY = frozenset(
    word
    for part in (*SUBJECTS, *VERBS, *PLACES, *ENDS, *HERDS, *REST, *RESTS)
    for word in part.lower().split()
) | {"and", "near"}


def is_filler(line: str) -> bool:
    """Whether a line consists of the words of fillers: it tells nothing of a Skill."""
    words = line.lower().replace(".", " ").lstrip("#- ").split()
    return bool(words) and _VOCABULARY.issuperset(words)


def sentences() -> Iterator[str]:
    """Yield sentences; the first 17,017 are distinct."""
    for number in count():
        parts = (choices[number % len(choices)] for choices in (SUBJECTS, VERBS, PLACES, ENDS))
        yield _sentence(" ".join(parts))


def _short_sentences() -> Iterator[str]:
    for number in count():
        subject, verb, place = (
            choices[number % len(choices)] for choices in (SUBJECTS, VERBS, PLACES)
        )
        yield _sentence(f"{subject} {verb} {place}")
        yield _sentence(f"{subject} {RESTS[number % len(RESTS)]}")
        yield _sentence(f"{HERDS[number % len(HERDS)]} {REST[number % len(REST)]}")
        yield HERDS[number % len(HERDS)].capitalize()


def _titles() -> Iterator[str]:
    """Titles from long to short, over and over; each ends in a noun."""
    for number in count():
        bare = [name.partition(" ")[2] for name in SUBJECTS]
        one, other = bare[number % len(bare)], bare[(number + 4) % len(bare)]
        place = PLACES[number % len(PLACES)]
        yield f"{one} and {other} near {place}".capitalize()
        yield f"{one} near {place}".capitalize()
        yield f"{one} and {other}".capitalize()
        yield one.capitalize()
        yield place.partition(" ")[2].capitalize()
        yield HERDS[number % len(HERDS)].capitalize()


def _sentence(words: str) -> str:
    return f"{words[0].upper()}{words[1:]}."


_ROUND = 20  # short texts among which the best fit is chosen


class _Filler:
    def __init__(self) -> None:
        self.long, self.short, self.titles = sentences(), _short_sentences(), _titles()

    def title(self, room: float) -> str:
        return self._fitting(self.titles, room)

    def prose(self, room: float) -> str:
        """Return sentences of about the given total weight: long ones, then a short one."""
        chosen: list[str] = []
        while room >= LONG_SENTENCE:
            chosen.append(next(self.long))
            room -= weight(chosen[-1])
        if not chosen or room >= SHORT_SENTENCE:
            chosen.append(self._fitting(self.short, room))
        return " ".join(chosen)

    @staticmethod
    def _fitting(texts: Iterator[str], room: float) -> str:
        return min((next(texts) for _ in range(_ROUND)), key=lambda text: abs(weight(text) - room))


def like(lines: Sequence[str], headings: Collection[int]) -> list[str]:
    """Return as many lines, blank in the same places, with about as many estimated tokens in total.

    `headings` (0-based) become titles of the same level, other lines become whole sentences.
    """
    filler, owed, filled = _Filler(), 0.0, []
    for number, line in enumerate(lines):
        owed += weight(line)
        text = ""
        if line.strip():
            mark = _mark(line, number in headings)
            room = owed - weight(mark)
            text = mark + (filler.title(room) if number in headings else filler.prose(room))
            owed -= weight(text)
        filled.append(text)
    return filled


def _mark(line: str, heading: bool) -> str:
    """The mark that opens a heading or bullet, so that the page keeps its outline."""
    first = line.split(maxsplit=1)[0]
    if heading and set(first) == {"#"}:
        return f"{first} "
    return "- " if first in {"-", "*"} else ""


UNNAMED = "a supporting file"

_BEFORE = r"(?<![\w./-])(?:[\w.~$@{}-]{0,255}+/){0,64}"
"""The folders before a name; bounded, so that a long line of slashes stays cheap."""


class UnroutedPlacebo:
    """All files of pd, and a root that names none of them: no table, pointers or mentions.

    Commands of the root lose the names of their scripts too. The frontmatter is unchanged.
    """

    variant: ClassVar[str] = "placebo-unrouted"
    parent: ClassVar[str] = "pd"
    stands_for: ClassVar[str] = "pd"
    expected: ClassVar[tuple[str, ...]] = (
        "layout.pd-support",
        "layout.pd-root-size",
        "layout.pd-unnamed",
        "layout.pd-cue",
        "edit.*",
        "size.shrunk",
    )

    def plan(self, parent: Bundle, params: dict[str, Any]) -> Plan:
        flat = flat_skill(parent, self.variant)
        others = [path for path in parent.files if path != flat.path]
        skip = flat.markdown.frontmatter_lines
        left = set(_routing(flat.lines, skip))
        pieces = _pieces(flat.path, flat.lines, left, skip, _Unnaming(flat.path, others))
        return page_plan(
            flat, (self.variant, self.parent), pieces, notes=("a control: its root names no file",)
        )


def _routing(lines: tuple[str, ...], skip: int) -> Iterator[int]:
    prose = markdown_index(lines).prose_lines
    table = _table(lines)
    yield from table
    for number, line in enumerate(lines[skip:], skip):
        if number not in table and number in prose and template_of_line(line) in POINTERS:
            yield number


def _table(lines: tuple[str, ...]) -> set[int]:
    """The lines of the lists of files, with their titles."""
    found: set[int] = set()
    for start, line in enumerate(lines):
        rest = [n for n in range(start + 1, len(lines)) if lines[n].strip()]
        rows = [*takewhile(lambda n: _is_row(lines[n]), rest)]
        if line in {TEMPLATES["routing"], TEMPLATES["further"]} and rows:
            found.update(range(start, rows[-1] + 1))
    return found


def _is_row(line: str) -> bool:
    return line == TEMPLATES["routing-lead"] or (template_of_line(line) or "").startswith("row-")


def _pieces(
    path: str, lines: tuple[str, ...], omitted: set[int], skip: int, unname: "_Unnaming"
) -> Iterator[Copy]:
    start = 0
    for stop in [*sorted(omitted), len(lines)]:
        if start < stop:
            changes = (
                Substitution(number + 1, lines[number], after, "control")
                for number in range(max(start, skip), stop)
                if (after := unname(lines[number])) != lines[number]
            )
            yield Copy(path, start + 1, stop, substitutions=tuple(changes))
        start = stop + 1


class _Unnaming:
    def __init__(self, root: str, others: Iterable[str]) -> None:
        folder = f"{PurePosixPath(root).parent}/"
        shown = [path.removeprefix(folder) for path in others]
        self._names = {name for path in shown for name in (path, PurePosixPath(path).name)}
        folders = {f"{up}/" for path in shown for up in PurePosixPath(path).parents if up.name}
        dotted = {name for name in self._names if "." in name or "/" in name}
        self._anywhere = _pattern(_BEFORE, dotted | folders)
        self._in_ticks = _pattern("(?<=`)", self._names - dotted, "(?=`)")

    def __call__(self, line: str) -> str:
        line = rewrite_links(line, self._target)
        for pattern in (self._anywhere, self._in_ticks):
            line = pattern.sub(UNNAMED, line) if pattern else line
        return line

    def _target(self, target: str) -> str | None:
        path, _ = split_target(target)
        known = is_local(target) and PurePosixPath(path).name in self._names
        return "#" if known else None


def _pattern(before: str, names: Iterable[str], after: str = "") -> re.Pattern[str] | None:
    alternatives = [re.escape(name) for name in sorted(names, key=lambda name: (-len(name), name))]
    after = after or r"(?![\w/-]|\.\w)"
    return (
        re.compile(f"{before}(?:{'|'.join(alternatives)}){after}", re.IGNORECASE)
        if alternatives
        else None
    )


PREFIX = "without:"
BELOW = " > "
"""Between the titles of a section and of the one above it, where two sections have one title."""
LEAST_TOKENS = 100
"""Estimated tokens below which `init --sections` makes no arm for a section."""
MOST_SHARE = 0.25
"""Share of the page's text above which a section is divided into those below it."""
LONGEST_NAME = 60
"""Characters of a heading in the name of its variant."""
_NOT_WORD = re.compile(r"[^a-z0-9]+")
_PLAIN = re.compile(r"[\w\s./>-]*", re.ASCII)


class WithoutSection:
    """A control that omits one section of the baseline. `title` is its heading, or `ABOVE > HEADING`."""

    parent: ClassVar[str] = "baseline"
    stands_for: ClassVar[str] = "baseline"
    expected: ClassVar[tuple[str, ...]] = (
        "edit.*",
        "hygiene.*",
        "size.shrunk",
    )

    def __init__(self, title: str) -> None:
        self.title = title
        self.variant = f"without-{_slug(title)}"

    def plan(self, parent: Bundle, params: dict[str, Any]) -> Plan:
        """Return the plan. Raises TransformError unless exactly one section has the title."""
        flat = flat_skill(parent, f"{PREFIX}{self.title}")
        start, end = self._range(flat)
        headings = {one.start - start for one in flat.markdown.headings if start <= one.start < end}
        pieces: list[Copy | Generated] = [
            Copy(flat.path, 1, start),
            *_filler(flat.lines[start:end], headings),
        ]
        if end < len(flat.lines):
            pieces.append(Copy(flat.path, end + 1, len(flat.lines)))
        notes = (f"a control: it omits the section {self.title!r}",)
        return page_plan(flat, (self.variant, self.parent), pieces, notes=notes)

    def _range(self, flat: FlatSkill) -> LineRange:
        wanted = tuple(part.strip().casefold() for part in self.title.split(BELOW))
        found = [
            lines
            for titles, lines in _sections(flat)
            if tuple(map(str.casefold, titles))[-len(wanted) :] == wanted
        ]
        if len(found) == 1:
            return found[0]
        count = f"{len(found)} sections" if found else "no section"
        raise TransformError(
            f"{PREFIX}{self.title}: {count} of the flat page with this heading; name one as ABOVE >"
            f" HEADING, a page by its path: {', '.join(map(repr, titles_of(flat)))}"
        )


def _slug(title: str) -> str:
    """A name for folders and tables; one that drops signs of the heading ends with a digest of it, so that
    "C++" and "C#" have two."""
    name = _NOT_WORD.sub("-", title.casefold()).strip("-")[:LONGEST_NAME].strip("-")
    if name and _PLAIN.fullmatch(title) and len(title) <= LONGEST_NAME:
        return name
    return f"{name or 'section'}-{sha256(title.casefold().encode())[:6]}"


def _sections(flat: FlatSkill) -> Iterator[tuple[tuple[str, ...], LineRange]]:
    """Titles from the outermost, and lines, of every section; of an embedded page, its path."""
    for titles, node in _named(flat.tree(), ()):
        yield titles, _lines(node)
    for page in _pages(flat):
        yield (page.path,), (page.heading.start, page.section_end)


def _named(
    node: SectionNode, above: tuple[str, ...]
) -> Iterator[tuple[tuple[str, ...], SectionNode]]:
    for child in node.children:
        titles = (*above, visible_text(child.title).strip())
        yield titles, child
        yield from _named(child, titles)


def _lines(node: SectionNode) -> LineRange:
    ranges = list(ranges_of(node))
    return ranges[0][0], ranges[-1][1]


def _pages(flat: FlatSkill) -> Iterator[EmbeddedFile]:
    return (file for file in flat.embedded_files if is_markdown(file.path))


def titles_of(flat: FlatSkill) -> list[str]:
    """Return what names each section: its heading, with the one above where two have the same; of a page
    that the source has as a file, its path.

    A section with more than `MOST_SHARE` of the page's text is divided into those below it; one below
    `LEAST_TOKENS` is left out.
    """
    named = {node.start: titles for titles, node in _named(flat.tree(), ())}
    every = [titles[-1].casefold() for titles in named.values()]
    whole = flat.tokens(list(ranges_of(flat.tree())))
    waiting, found = list(flat.tree().children), list[str]()
    while waiting:
        node = waiting.pop(0)
        tokens = flat.tokens(list(ranges_of(node)))
        titles = named[node.start]
        if tokens > MOST_SHARE * whole and node.children:
            waiting = [*node.children, *waiting]
        elif tokens >= LEAST_TOKENS:
            alone = every.count(titles[-1].casefold()) == 1
            found.append(titles[-1] if alone else BELOW.join(titles[-2:]))
    ranges = {page.path: [(page.heading.start, page.section_end)] for page in _pages(flat)}
    return found + [path for path, lines in ranges.items() if flat.tokens(lines) >= LEAST_TOKENS]
