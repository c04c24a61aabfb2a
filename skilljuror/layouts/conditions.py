"""Which sections of a flat page leave the root, and under which condition that the page itself states.

A section leaves with the words of its title, of its first sentence, or of a sentence elsewhere that leads to it.
What every run needs (steps, prerequisites, parameters, gates, laws, the form of the result) stays, and so does
whatever states no condition. The words are in transforms/disclose-progressively/conditions.yaml.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from skilljuror.audit.comparison.shell_names import names_set, names_used
from skilljuror.audit.condition_words import condition_words, says
from skilljuror.base.files import sha256
from skilljuror.base.skill import is_markdown
from skilljuror.layouts.sections import FlatSkill, SectionNode, ranges_of
from skilljuror.skill.markdown import visible_text

Scope = Literal["main", "branch"]
LEAST_FILE = 150
"""Estimated tokens below which a section is not worth opening a file."""
LEAST_ALTERNATIVE = 80
"""The same for one of several alternatives, which leave together."""
LEAST_TOGETHER = 400
"""Estimated tokens of alternatives that leave together."""
WORTH_TOKENS, WORTH_SHARE, WORTH_ALONE = 400, 0.1, 800
"""Estimated tokens, and share of the root, that have to leave for a layout to be worth a study; tokens that are of
whatever share."""
OPEN_TOKENS = 2_500
"""Estimated tokens up to which a section is judged as a whole."""
MOST_MORE = 3
"""Words beside the name in the title of an alternative."""
SYMPTOM_WORDS = 24
"""Words of the symptoms that stand beside a title about trouble."""
LONGEST_SENTENCE = 40
"""Words of a sentence that a row quotes."""

_LEAD = re.compile(r"^[^\w(]*(?:\d{1,2}[.)]\s+)?")
_ASIDE = re.compile(r"\(([^()]*)\)|\s[—–-]{1,2}\s(.*)$")
_STEP = re.compile(
    r"^\W*(?:(?:step|phase|stage|part|round)\s*)?(?:\d{1,2}(?:\.\d{1,2})?[a-z]?|[a-z]\d{1,2}|[A-Z])[.):\s—–-]"
)
_NAMED_STEP = re.compile(r"\W*(?:step|phase|stage)\b", re.IGNORECASE)
_ELSE = re.compile(r"\W*(?:otherwise|else)\b", re.IGNORECASE)
_BY = re.compile(
    r"^(?:for|using|with|on|in|via|to|the)\s+|\s*\([^()]*\)|\s*[:—–].*$", re.IGNORECASE
)
_SENTENCE = re.compile(r"(?<=[.!?:])(?<!e\.g\.)(?<!i\.e\.)[*_]{0,3}\s+(?=[\W]*[A-Z`\d])")
_MARKS = re.compile(r"[*_]{2,3}|(?<!\w)\*|\*(?!\w)")
_LINK = re.compile(r"\[([^\[\]]*)\]\(#([^()\s]+)\)")
_WORD = re.compile(r"[a-z]{4,}")
_ROUND = str.maketrans("[]", "()")


@dataclass(frozen=True, slots=True)
class Condition:
    """Words of the source that say when a section is needed."""

    title: str
    said: str = ""
    """A sentence, or the symptoms of trouble; empty if the title says it."""
    sign: str = ""
    """ "sentence" or "symptoms"."""

    @property
    def key(self) -> str:
        """What two rows may not share."""
        return " ".join((self.said if self.sign == "sentence" else self.title).casefold().split())


@dataclass(frozen=True, slots=True)
class Section:
    """A section and what is known of it."""

    node: SectionNode
    above: tuple[str, ...]  # titles of the sections above, outermost first
    reason: str
    """Why it stays with all below it; empty if nothing says so."""
    condition: Condition | None = None
    """With it the section leaves with all below it."""


@dataclass(frozen=True, slots=True)
class OpenSection:
    """A section, with all below it, that no rule decides: a model or a person can."""

    start: int  # first line in the flat page, 0-based
    title: str
    above: tuple[str, ...]
    text: str

    @property
    def key(self) -> str:
        """What identifies the section: the sha256 of its text."""
        return sha256(self.text.encode("utf-8", "surrogatepass"))


def leaving_sections(flat: FlatSkill, judged: Mapping[str, Scope] | None = None) -> list[Section]:
    """Return the sections that leave, in document order; none if too little of the root would leave.

    `judged` has what a model or a person said of sections by their keys: "main" stays, "branch" leaves.
    """
    judged, stay = judged or {}, Stay(flat)
    found = []
    for section in sections_of(flat):
        said = judged.get(_open(flat, section).key)
        if said == "main":
            continue
        if section.condition:
            found.append(section)
        elif said == "branch" and not section.reason and not stay.holds(section.node):
            found.append(
                Section(section.node, section.above, "", Condition(plain(section.node.title)))
            )
    found = _outermost(found)
    shared = Counter(section.condition.key for section in found if section.condition)
    found = [one for one in found if one.condition and shared[one.condition.key] == 1]
    moved = sum(tokens_of(flat, section.node) for section in found)
    by_people = any(judged.get(_open(flat, section).key) == "branch" for section in found)
    root = flat.tokens([(node.start, node.text_end) for node in flat.nodes()])
    worth = by_people or moved >= max(WORTH_TOKENS, min(WORTH_SHARE * root, WORTH_ALONE))
    return found if worth else []


def _outermost(sections: Sequence[Section]) -> list[Section]:
    found: list[Section] = []
    for section in sections:
        if not found or section.node.start >= list(ranges_of(found[-1].node))[-1][1]:
            found.append(section)
    return found


def open_sections(flat: FlatSkill) -> list[OpenSection]:
    """Return the largest sections that no rule decides, in document order; those over `OPEN_TOKENS` are divided."""
    sections = {one.node.start: one for one in sections_of(flat)}
    stay, found, end = Stay(flat), list[OpenSection](), 0
    for section in sections.values():
        below = [sections.get(start) for start, _ in ranges_of(section.node)]
        undecided = all(one and not one.reason and not one.condition for one in below)
        fits = tokens_of(flat, section.node) <= OPEN_TOKENS or not section.node.children
        if section.node.start >= end and undecided and fits and not stay.holds(section.node):
            found.append(_open(flat, section))
            end = list(ranges_of(section.node))[-1][1]
    return found


def _open(flat: FlatSkill, section: Section) -> OpenSection:
    text = flat.text(list(ranges_of(section.node))).strip()
    return OpenSection(section.node.start, section.node.title, section.above, text)


def tokens_of(flat: FlatSkill, node: SectionNode) -> int:
    """Return the estimated tokens of a section with all below it."""
    return flat.tokens(list(ranges_of(node)))


def plain(title: str) -> str:
    """Return a heading as a row quotes it."""
    return visible_text(title).translate(_ROUND).strip(' "“”').rstrip(".:;,").strip()


def sections_of(flat: FlatSkill) -> list[Section]:
    """Return the sections of a page in document order; nothing below one that stays or leaves as a whole."""
    return list(_below(flat.tree(), (), Stay(flat), is_title=True))


def _below(
    parent: SectionNode, above: tuple[str, ...], stay: "Stay", *, is_title: bool
) -> Iterator[Section]:
    steps, alternatives = _steps(parent), _alternatives(parent.children, stay)
    stated, fors = _stated(parent.children, stay), _for_titles(parent.children)
    for node in parent.children:
        if is_title and (node.level <= 1 or (len(parent.children) == 1 and node.children)):
            yield from _below(node, (*above, node.title), stay, is_title=True)
            continue
        title, alternative = _LEAD.sub("", plain(node.title)), node.start in alternatives
        if node.start in steps - alternatives:
            yield Section(node, above, "process")
            continue
        torn = node.start in fors and not alternative
        said = stated.get(node.start, "")
        condition = Condition(plain(node.title), said, "sentence") if said else None
        condition = condition or (None if torn else _condition(node, title, alternative, stay))
        least = LEAST_ALTERNATIVE if alternative else LEAST_FILE
        if condition and tokens_of(stay.flat, node) >= least and not stay.holds(node):
            yield Section(node, above, "", condition)
        elif says("needed_by_all", title):
            yield Section(node, above, "needed by every run")
        else:
            yield Section(node, above, "")
            yield from _below(node, (*above, node.title), stay, is_title=False)


def _stated(children: Sequence[SectionNode], stay: "Stay") -> dict[int, str]:
    """First line -> first sentence of siblings that each begin with their own condition, such as workflows of which a
    run takes one; none if only one does."""
    found = {}
    for node in children:
        said = _opening(stay.flat, node, plain(node.title))
        if said and says("explicit_sentences", said):
            found[node.start] = said
    return found if len(found) > 1 else {}


def _steps(parent: SectionNode) -> set[int]:
    """First lines of the children that are steps: those called so, or at least two that are counted."""
    titles = {one.start: visible_text(one.title) for one in parent.children}
    named = {start for start, title in titles.items() if _NAMED_STEP.match(title)}
    counted = {start for start, title in titles.items() if _STEP.match(title)}
    return named or (counted if len(counted) > 1 else set())


def _condition(node: SectionNode, title: str, alternative: bool, stay: "Stay") -> Condition | None:
    """The condition that the page states for a section: of several places the title comes first."""
    shown = plain(node.title)
    if says("conditional_titles", title):
        return Condition(shown)
    if says("failure_titles", title) and not stay.is_subject(title):
        return Condition(shown, _symptoms(stay.flat, node), "symptoms")
    if says("needed_by_all", title) or not title:
        return None
    limits = any(says("limiting_asides", one[1] or one[2] or "") for one in _ASIDE.finditer(title))
    if alternative or limits:
        return Condition(shown)
    said = _opening(stay.flat, node, title) or stay.led(node)
    return Condition(shown, said, "sentence") if said else None


def _opening(flat: FlatSkill, node: SectionNode, title: str) -> str:
    """The first sentence of a section, if it states when the section is needed."""
    passages = flat.markdown.passages_in(node.text_start, list(ranges_of(node))[-1][1])
    blocks = flat.blocks_in(node.text_start, node.text_end)
    if not passages or not blocks or blocks[0].kind != "paragraph_open":
        return ""
    said = quoted(passages[0].text)
    if len(said.split()) > LONGEST_SENTENCE:
        return ""
    if says("explicit_sentences", said):
        return said
    others = _SENTENCE.split(passages[0].text)[1:] + [one.text for one in passages[1:]]
    if any(says("opening_conditions", _MARKS.sub("", one)) or _ELSE.match(one) for one in others):
        return ""  # one of several cases
    leads = said.endswith(":") or bool(_stems(said.partition(",")[0]) & _stems(title))
    whole = says("opening_conditions", said) and leads and not says("own_conditions", said)
    return said if whole else ""


def quoted(text: str) -> str:
    """Return the first sentence of a text as a row quotes it."""
    first = next(iter(_SENTENCE.split(" ".join(text.split()))), "")
    return " ".join(visible_text(_MARKS.sub("", first)).translate(_ROUND).split())


def _stems(text: str) -> set[str]:
    return {word[:5] for word in _WORD.findall(text.casefold())}


def _symptoms(flat: FlatSkill, node: SectionNode) -> str:
    """What a section about trouble has an answer to: its subsections, else its bold leads or the first cells of its table."""
    found = [_LEAD.sub("", plain(child.title)) for child in node.children]
    if not found:
        lines = flat.lines[node.text_start : node.text_end]
        bold = (
            re.match(r"\s*(?:[-*+]|\d+[.)])?\s*(?:\*\*|__)(.+?)(?:\*\*|__)", line) for line in lines
        )
        found = [plain(one[1]) for one in bold if one]
    if not found:
        tables = [
            one
            for one in flat.blocks_in(node.text_start, node.text_end)
            if one.kind == "table_open"
        ]
        rows = (line for one in tables[:1] for line in flat.lines[one.start + 2 : one.end])
        found = [plain(row.strip().strip("|").split("|")[0]) for row in rows]
    chosen: list[str] = []
    for one in dict.fromkeys(one for one in found if one):
        if len(" ".join([*chosen, one]).split()) > SYMPTOM_WORDS:
            chosen.append("…")
            break
        chosen.append(one)
    return "; ".join(chosen).replace("; …", " …")


def _for_titles(children: Sequence[SectionNode]) -> set[int]:
    """First lines of siblings called "For plan mode", "For code mode", if there are several."""
    starts = {one.start for one in children if plain(one.title).casefold().startswith("for ")}
    return starts if len(starts) > 1 else set()


def _alternatives(children: Sequence[SectionNode], stay: "Stay") -> set[int]:
    """First lines of siblings of which a run takes one: names of one kind, "for" this and "for"
    that, or a count with more words. They leave together or not at all."""
    titles = {one.start: _LEAD.sub("", plain(one.title)) for one in children}
    sets = [
        _for_titles(children),
        {start for start, title in titles.items() if says("counted_alternatives", title)},
    ]
    for pattern in condition_words()["alternatives"].values():
        found: dict[int, re.Match[str]] = {}
        for start, title in titles.items():
            match = pattern.match(_BY.sub("", title).strip())
            if match and len(match.string[match.end() :].split()) <= MOST_MORE:
                found[start] = match
        if len({one[0].casefold() for one in found.values()}) > 1:
            more = Counter(one.string[one.end() :].casefold() for one in found.values())
            ends = tuple(text for text, count in more.items() if count > 1 and text)
            alike = {
                start for start, title in titles.items()
                if any(title.casefold().endswith(end) and len(title[: -len(end)].split()) == 1 for end in ends)
            }  # fmt: skip
            sets.append({*found} | (alike if ends else set()))
    chosen: set[int] = set()
    for group in sets:
        nodes = [one for one in children if one.start in group]
        sizes = [tokens_of(stay.flat, one) for one in nodes]
        large = len(nodes) > 1 and min(sizes) >= LEAST_ALTERNATIVE and sum(sizes) >= LEAST_TOGETHER
        if large and not any(map(stay.holds, nodes)):
            chosen |= group
    return chosen


class Stay:
    """What keeps a section of one page in the root, whatever its title says."""

    def __init__(self, flat: FlatSkill) -> None:
        self.flat = flat

    def holds(self, node: SectionNode) -> bool:
        """Whether a section has a gate, text for the loader, a name that other text uses, or the author's own rows
        for files."""
        ranges = list(ranges_of(node))
        start, end = ranges[0][0], ranges[-1][1]
        text = self.flat.text(ranges)
        beside = self.flat.text([(0, start), (end, len(self.flat.lines))])
        return (
            any(self.flat.is_loaded(*lines) for lines in ranges)
            or says("gate_sentences", text)
            or any(start <= line < end for line in self._naming)
            or bool(names_set(text) & names_used(beside))
        )

    def is_subject(self, title: str) -> bool:
        """Whether the Skill itself is about what a title names."""
        subject = _stems(" ".join([self.flat.path.replace("-", " "), *self._page_titles]))
        return bool(_stems(title) & subject)

    def led(self, node: SectionNode) -> str:
        """The sentence elsewhere that leads to a section on a condition; empty if another leads to it without one."""
        anchor = self.flat.markdown.anchor_at.get(node.start)
        end = list(ranges_of(node))[-1][1]
        found = []
        for line, sentence, target in self._links:
            if target == anchor and not node.start <= line < end:
                found.append(
                    quoted(sentence) if says("leading_conditions", _LINK.sub("", sentence)) else ""
                )
        fits = found and all(found) and len(found[0].split()) <= LONGEST_SENTENCE
        return found[0] if fits else ""

    @cached_property
    def _links(self) -> list[tuple[int, str, str]]:
        """(line, sentence, anchor) of every link to a section of the page, but for those in lists of contents."""
        return [
            (passage.line, sentence, match[2])
            for passage in self.flat.markdown.passages_in(0, len(self.flat.lines))
            for sentence in _SENTENCE.split(passage.text)
            for match in _LINK.finditer(sentence)
            if len(_LINK.sub("", sentence).split()) > 1
        ]

    @cached_property
    def _page_titles(self) -> list[str]:
        fields = [
            line
            for line in self.flat.lines[: self.flat.markdown.frontmatter_lines]
            if line.startswith("name:")
        ]
        return [one.title for one in self.flat.headings if one.level == 1] + fields

    @cached_property
    def _naming(self) -> list[int]:
        """Lines that name a page of the Skill: rows of the author, which stay where they are."""
        flat = self.flat
        carried = [file for file in flat.embedded_files if not file.is_helper]
        beside = [path for path in flat.bundle.files if is_markdown(path) and path != flat.path]
        names = [path.rpartition("/")[2] for path in [*(file.path for file in carried), *beside]]
        anchors = {flat.markdown.anchor_at.get(file.heading.start) for file in carried}
        if not names:
            return []
        pattern = re.compile(
            rf"(?<![\w.-])(?:{'|'.join(map(re.escape, names))})(?![\w-])", re.IGNORECASE
        )
        return [
            number
            for number, line in enumerate(flat.lines)
            if not flat.in_embedded_file(number)
            and (pattern.search(line) or any(match[2] in anchors for match in _LINK.finditer(line)))
        ]
