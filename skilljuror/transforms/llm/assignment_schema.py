"""The answer of a model that assigns sections to files, and its validation."""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from skilljuror.knowledge.generated.embedded_files import EmbeddedFile
from skilljuror.knowledge.plans.trigger_sentences import split_trigger
from skilljuror.models.record import Record
from skilljuror.transforms.disclosure.sections import FlatSkill, SectionGroup

SECTION_TOKENS = 300
"""Estimated tokens up to which a section and its subsections are offered as one."""
MOST_SECTIONS = 120  # maximum number of sections; above it, they are divided less deeply
OPENING_LINES = 60
OPENING_TOKENS = 900
"""Size above which the text before the first section is cut, so that its tail can move."""


@dataclass(frozen=True, slots=True)
class OfferedSection:
    """Text that moves or stays as one."""

    id: str  # s1, s2, … in document order
    group: SectionGroup
    place: int  # its place among all groups, headings without text included

    @property
    def opens(self) -> bool:
        """Whether the skill starts with it, so that it must stay in the root."""
        return self.id == "s1"


class OfferedSections:
    """The sections and documents of a flat skill that a model can place."""

    def __init__(self, flat: FlatSkill) -> None:
        self.flat = flat
        readable = (file for file in flat.embedded_files if not file.is_helper)
        self.documents: dict[str, EmbeddedFile] = {
            f"d{number}": file for number, file in enumerate(readable, start=1)
        }
        """Embedded files that are read, not run: they stay whole and need a trigger."""
        self.groups = _groups(flat)  # all text in document order, headings without text included
        _cut_opening(flat, self.groups, must_move=not self.documents)
        places = [place for place, group in enumerate(self.groups) if not group.heading_only]
        self.sections = [
            OfferedSection(f"s{number}", self.groups[place], place)
            for number, place in enumerate(places, start=1)
        ]
        self.by_id = {section.id: section for section in self.sections}

    def below(self, section: OfferedSection) -> list[OfferedSection]:
        """Return the subsections of the heading whose text is this section."""
        return self._inside(section.place) if section.group.is_head else []

    def _inside(self, place: int) -> list[OfferedSection]:
        depth = len(self.groups[place].path)
        later = range(place + 1, len(self.groups))
        end = next((at for at in later if len(self.groups[at].path) <= depth), len(self.groups))
        return [section for section in self.sections if place < section.place < end]

    def divide(
        self, file_of: Mapping[str, str]
    ) -> tuple[list[SectionGroup], dict[str, list[SectionGroup]]]:
        """Return (kept in the root, file -> its groups), each in document order.

        `file_of` maps the id of a section to its file; others stay. A heading without text stays with any
        section below it, else it goes with the first of them.
        """
        kept: list[SectionGroup] = []
        moved: dict[str, list[SectionGroup]] = {}
        headings: list[SectionGroup] = []
        by_place = {section.place: section for section in self.sections}
        for place, group in enumerate(self.groups):
            section = by_place.get(place)
            if section is None:
                below = [file_of.get(inner.id) for inner in self._inside(place)]
                (headings if below and None not in below else kept).append(group)
            elif section.id in file_of:
                moved.setdefault(file_of[section.id], []).append(group.below(headings))
                headings = []
            else:
                kept.append(group)
        return kept, moved


def _groups(flat: FlatSkill) -> list[SectionGroup]:
    limit = SECTION_TOKENS
    while True:
        groups = flat.groups(limit)
        if len(groups) <= MOST_SECTIONS or limit > flat.tokens([(0, len(flat.lines))]):
            return groups
        limit *= 2


def _cut_opening(flat: FlatSkill, groups: list[SectionGroup], *, must_move: bool) -> None:
    """Cut the first text if it is long, or is all there is, so that its tail can move."""
    with_text = [group for group in groups if not group.heading_only]
    if not with_text:
        return
    first = with_text[0]
    lines, tokens = OPENING_LINES, OPENING_TOKENS
    if must_move and len(with_text) == 1:
        lines, tokens = first.lines, min(tokens, first.tokens // 2)
    elif first.lines <= lines and first.tokens <= tokens:
        return
    halves = flat.split(first, lines, tokens)
    if halves is not None:
        head, tail = halves
        # the tail counts as below its heading, which stays above it
        below = SectionGroup(
            tail.ranges, tail.title, (*tail.path, tail.title), tail.tokens, skill=tail.skill
        )
        place = groups.index(first)
        groups[place : place + 1] = [head, below]


MAX_PATH = 80
SHOWN = 6  # maximum number of problems reported at once
_PATH = re.compile(r"references/(?:[a-z0-9][a-z0-9-]*/)?[a-z0-9][a-z0-9-]*\.md")


class NewFile(Record):
    """A reference file made of sections."""

    path: str
    """Path below the skill's folder: references/, at most one folder, a lower-case name, .md."""
    sections: tuple[str, ...]
    """Ids of its sections; they keep the order they have in the document."""
    trigger: str
    """One sentence, "when … because …", that says when to open the file and why."""


class DocumentTrigger(Record):
    """The trigger of a file that the skill already carries."""

    document: str
    """Id of the document."""
    trigger: str
    """One sentence, "when … because …"."""


class Assignment(Record):
    """The place of every section."""

    root: tuple[str, ...]
    """Ids of the sections that stay in SKILL.md."""
    files: tuple[NewFile, ...]
    """The reference files, in the order in which the root names them."""
    documents: tuple[DocumentTrigger, ...] = ()
    """One trigger for each document."""


def assignment_problems(
    answer: Assignment, offer: OfferedSections, is_taken: Callable[[str], bool]
) -> list[str]:
    """Return the problems of an answer, as messages to the model.

    `is_taken` knows the paths, below the skill's folder, of other files. Triggers are checked later,
    against the resulting files.
    """
    problems = [
        *_section_problems(answer, offer),
        *_path_problems(answer, is_taken),
        *_document_problems(answer, offer),
        *_trigger_problems(answer),
    ]
    return problems or [*_heading_problems(answer, offer)]


def joined_problems(problems: list[str]) -> str:
    more = f"; and {len(problems) - SHOWN} more" if len(problems) > SHOWN else ""
    return "; ".join(problems[:SHOWN]) + more


def _section_problems(answer: Assignment, offer: OfferedSections) -> Iterator[str]:
    named = [*answer.root, *(name for file in answer.files for name in file.sections)]
    counts, known = Counter(named), offer.by_id
    for name in known:
        if counts[name] != 1:
            times = f"{counts[name]} times" if counts[name] else "nowhere"
            yield f"section {name} is placed {times}"
    for name in counts:
        if name not in known:
            yield f"unknown section {_cut(name)!r}"
    for section in offer.sections:
        if section.opens and section.id not in answer.root:
            yield f"section {section.id} opens the skill and must stay in the root"
    if not answer.files and not offer.documents:
        yield "no section moves; move at least one"


def _cut(text: str) -> str:
    return text if len(text) <= MAX_PATH else f"{text[:MAX_PATH]}…"


def _path_problems(answer: Assignment, is_taken: Callable[[str], bool]) -> Iterator[str]:
    seen: set[str] = set()
    for file in answer.files:
        path = file.path
        if len(path) > MAX_PATH or not _PATH.fullmatch(path):
            yield (
                f"invalid path {_cut(path)!r}: use references/<name>.md in lower-case letters,"
                f" digits and hyphens, at most {MAX_PATH} characters"
            )
        elif path in seen or is_taken(path):
            yield f"path {path!r} is already in use; each file needs its own"
        seen.add(path)
        if not file.sections:
            yield f"{_cut(path)!r} has no sections"


def _document_problems(answer: Assignment, offer: OfferedSections) -> Iterator[str]:
    counts = Counter(document.document for document in answer.documents)
    for name in offer.documents:
        if counts[name] != 1:
            yield f"document {name} needs exactly one trigger, but has {counts[name]}"
    for name in counts:
        if name not in offer.documents:
            yield f"unknown document {_cut(name)!r}"


def _trigger_problems(answer: Assignment) -> Iterator[str]:
    triggers = [(file.path, file.trigger) for file in answer.files]
    triggers += [(document.document, document.trigger) for document in answer.documents]
    for name, trigger in triggers:
        if split_trigger(trigger) is None:
            yield f"the trigger of {_cut(name)!r} is not one sentence 'when … because …'"


def _heading_problems(answer: Assignment, offer: OfferedSections) -> Iterator[str]:
    """A section may leave the root only together with its subsections."""
    root = set(answer.root)
    for section in offer.sections:
        left = [inner.id for inner in offer.below(section) if inner.id in root]
        if section.id not in root and left:
            yield (
                f"section {section.id} is the heading of {', '.join(left[:SHOWN])}, which stay in the"
                " root; keep it there too, or move them"
            )
