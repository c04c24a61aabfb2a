"""The scope of each section: main path, which binds everybody, or branch, which some tasks need.

Titles decide first, then the outline (steps, parallel alternatives), then the form of the text (code,
tables). A section that nothing decides is main, and the first to move if the main path does not fit. A
model or a person can judge such a section.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from skilljuror.audit.comparison.sequences import in_order
from skilljuror.audit.comparison.shell_names import names_set, names_used
from skilljuror.base.files import sha256
from skilljuror.layouts.disclosure.own_rows import OwnRows
from skilljuror.layouts.disclosure.sections import FlatSkill, SectionNode, ranges_of
from skilljuror.skill.markdown import Block, visible_text

Scope = Literal["main", "branch"]
Reason = Literal[
    "opening", "law", "red flags", "decision", "prerequisite", "process", "routing", "undecided",
    "loader", "alternative", "look-up", "example", "troubleshooting", "judged", "stage", "over budget",
]  # fmt: skip
"""The last two are branches only because the root is full; "judged" is what a model or a person decided, and
"loader" a section with text that works in the root alone."""
BRANCHES = frozenset({"alternative", "look-up", "example", "troubleshooting"})


@dataclass(frozen=True, slots=True)
class SectionScope:
    """The scope of a section's own text."""

    start: int  # first line of the section in the flat page, 0-based; it identifies the section
    title: str
    scope: Scope
    reason: Reason


_PHRASES: tuple[tuple[Reason, str], ...] = (
    ("alternative", r"^if\b|\((?:only|if|optional)\b|\boptional\b|-specific\b|^advanced:|^for \w+ users"),
    ("prerequisite", r"before (?:you|any|start|begin)|\b(?:load|read|run|do this) (?:this )?first\b|step 0\b"),
    ("red flags", r"red flags?|rationali[sz]ations?|warning signs|anti-?patterns|pitfalls|gotchas|mistakes|what not to do|^stop\b"),
    ("decision", r"when (?:not )?to\b|when (?:this|it) applies|how to choose|decision|which\b.*\buse\b|\bshould i\b|^choos"),
    ("law", r"iron law|final rule|do'?s (?:and|&|/) don'?ts|do not|don'?t\b|\b(?:must|never|always)\b"),
    ("undecided", r"quick reference"),
    ("look-up", r"cheat ?sheet|see also|further reading|best practices? (?:by|per)\b"),
    ("troubleshooting", r"common (?:issues|errors|problems)|when (?:stuck|things go wrong)|known issues"),
)  # fmt: skip
"""Phrases of a title that decide wherever they are; but for the first two, not in parentheses."""
_WORDS: tuple[tuple[Reason, str], ...] = (
    ("law", r"laws?|rules?|critical|important|warnings?|principles?|guardrails?|constraints?|invariants?"
            r"|practices|guidelines?|standards|safety|policy|requirements?|checklists?|verification|agreement"),
    ("prerequisite", r"prerequisites?|pre-?requirements?|set-?up|install(?:ation)?|dependencies"
                     r"|environment|authentication|initiali[sz]ation|preamble|inputs?|arguments"),
    ("process", r"workflows?|process(?:es)?|procedure|protocol|steps|phases|stages|instructions|cycle"),
    ("example", r"examples?|samples?|snippets?|recipes?|cookbook|gallery|walkthroughs?|demos?|showcase"
                r"|case stud(?:y|ies)"),
    ("look-up", r"reference|references|api|catalog(?:ue)?|glossary|appendix|faq|resources|links|templates?"
                r"|patterns|variations|schemas?|parameters|integrations?|advanced|commands|related"
                r"|changelog|tips|background|benchmarks?|citations?|bibliography|metadata"),
    ("troubleshooting", r"troubleshooting|errors|issues|debugging|diagnostics"),
    ("decision", r"overview|introduction|purpose|goals?|role|scope|applicability|routing|triage"),
)  # fmt: skip
"""Words of a title; the last one before a preposition is its head noun and decides."""
_PHRASE = [(reason, re.compile(text, re.IGNORECASE)) for reason, text in _PHRASES]
_WORD = [(reason, re.compile(rf"\b(?:{text})\b", re.IGNORECASE)) for reason, text in _WORDS]
_TAIL = re.compile(
    r"\s+(?:for|of|in|with|to|by|from|on|and|vs)\s+|\s*[:(—–]\s*|\s-\s", re.IGNORECASE
)
_ASIDE = re.compile(r"\s*\([^()]*\)")
_EXAMPLE = re.compile(r"^\W*(?:worked |full |complete |quick )?examples?\b", re.IGNORECASE)
STEP = re.compile(r"^\W{0,4}(?:step|phase|stage|part|round)\s{0,2}\d{1,2}\b", re.IGNORECASE)
NUMBERED = re.compile(r"^\W{0,4}\d{1,2}[.)]\d{0,2}\s*", re.IGNORECASE)
_KINDS = re.compile(
    r"\b(?:types|kinds|categories|variants|modes|options|alternatives|languages|platforms|frameworks"
    r"|providers|backends|formats|libraries)\b",
    re.IGNORECASE,
)
"""Words of a title above parallel alternatives."""
_LETTERED = re.compile(
    r"^\W{0,4}(template|pattern|option|method|approach|strategy|variant|mode|scenario|case|recipe|type"
    r"|style|tier|workflow|use case)s?\s+(?:\d{1,2}|[A-Z])\b",
    re.IGNORECASE,
)
_SERIES = re.compile(r"^\W{0,4}([A-Z]{1,6})[- ]?\d{1,4}\b(?!\.)")
_NAMES = re.compile(
    r"(?<![\w.])(?:python|javascript|typescript|node(?:\.js)?|java|kotlin|golang|go|rust|c#|\.net|c\+\+"
    r"|ruby|php|swift|scala|bash|powershell|linux|macos|windows|docker|kubernetes|aws|gcp|azure"
    r"|cloudflare|vercel|netlify|github|gitlab|bitbucket|jenkins|postgres(?:ql)?|mysql|sqlite|mongodb"
    r"|redis|react|vue|angular|svelte|next\.js|django|flask|fastapi|spring|rails|express|pdf|docx|xlsx"
    r"|pptx|csv|json|yaml|xml|html|ios|android|npm|yarn|pnpm|maven|gradle|pip|poetry|conda|pytest|jest"
    r"|junit|openai|anthropic|claude(?:\.ai| code)?|gemini|codex|copilot|cursor|cowork)(?![\w+#])",
    re.IGNORECASE,
)
"""Languages, platforms, formats and products."""
DATA_SHARE = 0.55  # share of a section's tokens from which code or a table is its content
OPEN_TOKENS = 2_500  # estimated tokens up to which a section is judged as a whole
LOOKUP_TOKENS = 150  # estimated tokens from which a section of code or a table is a look-up
PROSE_FENCES = frozenset({"", "text", "txt", "markdown", "md", "dot", "mermaid"})


@dataclass(frozen=True, slots=True)
class OpenSection:
    """A section, with its subsections, that can be judged: no rule says whether it is main path or branch,
    or runs of a study may contradict the rules that say branch."""

    start: int  # first line in the flat page, 0-based
    title: str
    above: tuple[str, ...]  # titles of the sections above, outermost first
    text: str
    starts: tuple[int, ...]  # first lines of it and of its subsections, but for decided ones

    @property
    def key(self) -> str:
        """What identifies the section: the sha256 of its text."""
        return sha256(self.text.encode("utf-8", "surrogatepass"))


def scopes_of(
    flat: FlatSkill, judged: Mapping[str, Scope] | None = None
) -> tuple[SectionScope, ...]:
    """Return the scope of every section of a flat page, in document order; the first is the text before
    any heading. `judged` has the scopes of open sections by their keys."""
    found = {one.start: one for one in _Classifier(flat).sections()}
    for section in _judged_below(flat, found) if judged else ():
        scope, before = (judged or {}).get(section.key), found[section.start]
        if scope and (scope != before.scope or before.reason == "undecided"):
            found |= {at: replace(found[at], scope=scope, reason="judged") for at in section.starts}
    named = {one.start: one for one in _with_names(flat, found)}
    pinned = _loaded(flat, flat.tree())
    return tuple(
        replace(one, scope="main", reason="loader") if start in pinned else one
        for start, one in named.items()
    )


def open_sections(flat: FlatSkill) -> list[OpenSection]:
    """Return the sections of a flat page that a model or a person can judge, in document order. Those over
    `OPEN_TOKENS` are divided."""
    found = {one.start: one for one in _Classifier(flat).sections()}
    return list(_open_below(flat, found, flat.tree(), ()))


def branches(flat: FlatSkill) -> list[OpenSection]:
    """Return the largest sections of a flat page that the rules call branches, in document order."""
    found = {one.start: one for one in _Classifier(flat).sections()}
    return list(_branches_below(flat, found, flat.tree(), ()))


def _judged_below(flat: FlatSkill, found: Mapping[int, SectionScope]) -> Iterator[OpenSection]:
    known = dict(found)
    yield from _open_below(flat, known, flat.tree(), ())
    yield from _branches_below(flat, known, flat.tree(), ())


def _branches_below(
    flat: FlatSkill, scopes: Mapping[int, SectionScope], node: SectionNode, above: tuple[str, ...]
) -> Iterator[OpenSection]:
    ranges = list(ranges_of(node))
    if node.level and all(scopes[at].scope == "branch" for at, _ in ranges):
        starts = tuple(at for at, _ in ranges)
        yield OpenSection(node.start, node.title, above, flat.text(ranges).strip(), starts)
        return
    for child in node.children:
        yield from _branches_below(
            flat, scopes, child, (*above, node.title) if node.level else above
        )


def _open_below(
    flat: FlatSkill, scopes: Mapping[int, SectionScope], node: SectionNode, above: tuple[str, ...]
) -> Iterator[OpenSection]:
    ranges = list(ranges_of(node))
    whole = flat.tokens(ranges) <= OPEN_TOKENS or not node.children
    if scopes[node.start].reason == "undecided" and whole:
        starts = tuple(at for at, _ in ranges if scopes[at].reason == "undecided")
        yield OpenSection(node.start, node.title, above, flat.text(ranges).strip(), starts)
        return
    for child in node.children:
        yield from _open_below(flat, scopes, child, (*above, node.title) if node.level else above)


def title_reason(title: str) -> Reason | None:
    """Return what a title alone says; None if it says nothing."""
    text = visible_text(title).strip()
    for reason, pattern in _PHRASE[:2]:
        if pattern.search(text):
            return reason
    text = _ASIDE.sub("", text)
    for reason, pattern in _PHRASE[2:]:
        if pattern.search(text):
            return reason
    if _EXAMPLE.match(text):
        return "example"
    for part in _TAIL.split(NUMBERED.sub("", text)):
        found = [(match.start(), reason) for reason, word in _WORD for match in word.finditer(part)]
        if found:
            return max(found)[1]
    return None


class _Classifier:
    def __init__(self, flat: FlatSkill) -> None:
        self.flat = flat
        self.own = OwnRows(flat)

    def sections(self) -> Iterator[SectionScope]:
        root = self.flat.tree()
        yield SectionScope(root.start, "", "main", "opening")
        yield from self._below(root, is_title=True)

    def _below(self, parent: SectionNode, *, is_title: bool) -> Iterator[SectionScope]:
        alternatives = _alternatives(parent.children)
        steps = _steps(parent)
        catalogue = not steps and self._is_catalogue(parent)
        for node in parent.children:
            if is_title and self._is_title(node, parent):
                yield SectionScope(node.start, node.title, "main", "opening")
                yield from self._below(node, is_title=True)
                continue
            reason = self._reason(node, node.start in alternatives, node.start in steps)
            if catalogue and (reason is None or series_of(node.title)):
                reason = "look-up"
            if reason in {"law", "red flags"}:
                yield from self._laws(node, reason)
            elif reason is not None:
                yield from _subtree(node, reason)
            else:
                yield SectionScope(node.start, node.title, "main", "undecided")
                yield from self._below(node, is_title=False)

    def _laws(self, node: SectionNode, reason: Reason) -> Iterator[SectionScope]:
        """A law binds with all below it, but for subsections of code or tables."""
        yield SectionScope(node.start, node.title, "main", reason)
        for child in node.children:
            yield from _subtree(child, self._form(child) or reason)

    def _is_catalogue(self, parent: SectionNode) -> bool:
        """Whether its subsections are numbered entries, or most of its text is code and tables in them."""
        series = [one for one in parent.children if series_of(one.title)]
        forms = [one for one in parent.children if self._form(one) and not title_reason(one.title)]
        most = sum(map(self._tokens, forms)) * 2 > self._tokens(parent)
        return len(series) > 2 or (parent.level > 1 and len(forms) > 2 and most)

    def _is_title(self, node: SectionNode, parent: SectionNode) -> bool:
        """Whether it is the title of a page, or of a skill on it, or holds most of its text."""
        if node.level <= 1 or (len(parent.children) == 1 and node.children):
            return True
        if len(node.children) < 2 or title_reason(node.title) is not None:
            return False
        return self._tokens(node) * 2 > self._tokens(parent)

    def _tokens(self, node: SectionNode) -> int:
        return self.flat.tokens(list(ranges_of(node)))

    def _reason(self, node: SectionNode, alternative: bool, step: bool) -> Reason | None:
        said = title_reason(node.title)
        if step:
            return "process"
        if self.own.is_routing_table(list(ranges_of(node))):
            return "routing"
        if alternative and said not in {"law", "red flags", "decision"}:
            return "alternative"
        if said is None and len(node.children) > 1 and _KINDS.search(visible_text(node.title)):
            return "alternative"
        if said is None and len(node.children) > 1 and any(_ordered(node)):
            return "process"
        return said or self._form(node)

    def _form(self, node: SectionNode) -> Reason | None:
        """ "look-up" for a section of code or of a long table, without steps."""
        ranges = list(ranges_of(node))
        if self.flat.tokens(ranges) < LOOKUP_TOKENS:
            return None
        blocks = [one for lines in ranges for one in self.flat.blocks_in(*lines)]
        data = self.flat.tokens([(one.start, one.end) for one in blocks if _is_data(one)])
        steps = any(one.kind == "ordered_list_open" for one in blocks)
        return "look-up" if data > DATA_SHARE * self.flat.tokens(ranges) and not steps else None


def _is_data(block: Block) -> bool:
    code = block.kind == "fence" and block.info.split(" ")[0] not in PROSE_FENCES
    return code or block.kind == "table_open"


def _subtree(node: SectionNode, reason: Reason) -> Iterator[SectionScope]:
    """A section and all below it; parallel alternatives below are branches whatever is above."""
    scope: Scope = "branch" if reason in BRANCHES else "main"
    yield SectionScope(node.start, node.title, scope, reason)
    alternatives = _alternatives(node.children)
    for child in node.children:
        yield from _subtree(child, "alternative" if child.start in alternatives else reason)


def _alternatives(children: Sequence[SectionNode]) -> set[int]:
    """First lines of siblings that are parallel: "Option A", "Option B"; "Python", "Node"."""
    lettered = [one for one in children if _LETTERED.match(visible_text(one.title))]
    named = {
        child.start: frozenset(match[0].casefold() for match in _NAMES.finditer(child.title))
        for child in children
        if _NAMES.search(child.title) and not STEP.match(child.title)
    }
    parallel = len(set(named.values())) > 1 and len(named) >= len(children) / 2
    found = {one.start for one in lettered} if len(lettered) > 1 else set()
    return found | (named.keys() if parallel else set())


def series_of(title: str) -> str:
    """Return what numbers the entries of a catalogue: "AP" of "AP-01: Paths"; else ""."""
    match = _SERIES.match(visible_text(title))
    return match[1] if match else ""


def _steps(parent: SectionNode) -> set[int]:
    """First lines of the children that are numbered steps: as steps, or by bare numbers below a title or a
    process."""
    numbered = [one for one in parent.children if STEP.match(visible_text(one.title))]
    if len(numbered) < 2 and (parent.level < 2 or title_reason(parent.title) == "process"):
        numbered = [one for one in parent.children if NUMBERED.match(visible_text(one.title))]
    return {one.start for one in numbered} if len(numbered) > 1 else set()


def _ordered(node: SectionNode) -> list[bool]:
    titles = [NUMBERED.sub("", visible_text(child.title)) for child in node.children]
    return in_order(_TAIL.split(visible_text(node.title))[0], titles)


def _loaded(flat: FlatSkill, node: SectionNode) -> set[int]:
    """First lines of the sections with text that works in the root alone, and of those above them."""
    below = set().union(*(_loaded(flat, child) for child in node.children))
    return below | {node.start} if below or flat.is_loaded(node.start, node.text_end) else below


def _with_names(flat: FlatSkill, found: Mapping[int, SectionScope]) -> Iterable[SectionScope]:
    """Turn into main what sets a name that the main path uses and does not set."""
    texts = {node.start: flat.text([(node.start, node.text_end)]) for node in flat.nodes()}
    known = dict(found)
    while True:
        main = [texts[start] for start, one in known.items() if one.scope == "main"]
        wanted = set().union(*map(names_used, main)) - set().union(*map(names_set, main))
        setting = [
            one
            for start, one in known.items()
            if one.scope == "branch" and wanted & names_set(texts[start])
        ]
        if not setting:
            return known.values()
        known |= {one.start: replace(one, scope="main", reason="prerequisite") for one in setting}
