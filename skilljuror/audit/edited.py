"""The verdict on an edit: what a maintainer wants to be told before a change of a Skill is merged.

Policy `edited`, for pull requests. Red (severity high): in a text that otherwise stands where it stood, a changed
number, comparison, negation, permission, name or argument; a duty that no text holds any more; a file gone, or a link
or step number left behind, that something still leads to; a security finding in new text. Yellow (medium): the same
changes where the section around them was rewritten, reworded duties, lost statements. Told (low): what moved and what
was added. Additions never fail.
"""

import re
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from posixpath import basename, dirname, join, normpath
from urllib.parse import unquote

import yaml

from skilljuror.audit.changes import Change, words_named, words_of
from skilljuror.audit.comparison.file_matching import is_tail
from skilljuror.audit.comparison.normalised_text import all_paths
from skilljuror.audit.comparison.same_words import plain_words
from skilljuror.audit.comparison.unit_matching import field_key
from skilljuror.audit.edits import Edit, Edits, edits_between
from skilljuror.audit.gates.findings import cut_text
from skilljuror.audit.gates.hygiene import HygieneGate
from skilljuror.audit.gates.rules import Rule
from skilljuror.audit.gates.security import SecurityGate
from skilljuror.base.build import Finding, FindingSeverity
from skilljuror.base.files import data_dir
from skilljuror.base.skill import (
    CONTENT_KINDS,
    Bundle,
    Unit,
    is_licence,
    is_markdown,
    is_root_name,
)
from skilljuror.skill.bundles import look_alike
from skilljuror.skill.generated import embedded_files
from skilljuror.skill.markdown import markdown_index, read_text, visible_text
from skilljuror.skill.units import LINK_ARROW, units_of


@lru_cache(maxsize=1)
def edit_rules() -> dict[str, Rule]:
    """Rule id -> rule, worst first; the file also names the input that needs it."""
    rows = yaml.safe_load((data_dir("rubrics") / "rules-of-edits.yaml").read_bytes())
    fix = "restore it, or accept it: skilljuror audit SOURCE VARIANT --accept ID --reason TEXT"
    return {
        name: Rule(severity, what, _WHY.get(severity, "It is shown and decides nothing."), fix)
        for name, (severity, what, _) in rows.items()
    }


_WHY = {
    "high": "Agents that follow the text do something else now.",
    "medium": "Agents may do something else now: a person decides.",
}
SERIOUS = frozenset({
    "number", "unit", "comparator", "default", "negation", "opposite", "permission", "name", "argument",
})  # fmt: skip
_RENAMED = frozenset({"name", "argument", "path", "pointer", "words"})
LOADED_BY = frozenset({"name", "description"})  # fields by which an agent chooses a Skill
TOOLS = frozenset({
    "allowed-tools", "disallowed-tools", "hooks", "mcp-servers", "disable-model-invocation",
})  # fmt: skip
NAMED = frozenset({"modal", "quantifier", "conjunction", "condition", "agent", "path"})
_OFTEN = 2  # texts with one replacement from which it is a renaming
_NEAR = 3  # texts on each side of one that are its surroundings
_STANDS = 0.8  # share of the surroundings that is unchanged where a section stands
_OWN = 0.4  # share of them that the text has itself, not the ones around it
_HELD = 0.6  # share of a duty's words in a text after that holds it
_EMPTIED = 0.8  # share of the text of a Skill that an emptied one lost
_STRICT_DUTY = re.compile(
    r"\b(?:must|never|always|mandatory|forbidden|prohibited|shall|do not|don['’]t)\b",
    re.IGNORECASE,
)
_RULING = re.compile(
    rf"{_STRICT_DUTY.pattern}|\bnon-negotiable|\b(?:hard|strict|critical|golden) (?:[\w-]+ )?(?:rule|constraint|boundar|limit|invariant)",
    re.IGNORECASE,
)
_ITEM = re.compile(r"[\s>]*(?:[-*+]|\d+[.)])\s")
_FORBIDDING = re.compile(
    r"\b(?:never|not|no|nor|none|without|avoid|forbidden|prohibited)\b|n['’]t\b", re.IGNORECASE
)
_OBLIGING = re.compile(
    r"\b(?:must|shall|should|always|never|not|no|only|required?s?|mandatory|ensure|verify|need|avoid|without)\b|n['’]t\b",
    re.IGNORECASE,
)
_QUOTED = re.compile(r"`[^`]*`|\"[^\"]*\"|“[^”]*”")
INFORMING = frozenset({
    "author", "authors", "category", "date", "homepage", "keywords", "last-updated", "license",
    "licence", "metadata", "repository", "tags", "updated", "version",
})  # fmt: skip
POINTER = re.compile(
    r"(?<!` )\b(steps?|phases?|sections?|part|chapter|stage|rule|gate)\s+(\d+(?:\.\d+)*[a-z]?)\b",
    re.IGNORECASE,
)
_POSITION = re.compile(r"\b([a-z][\w-]{3,}) (above|below)\b", re.IGNORECASE)
_NUMBERED = re.compile(r"^(?:(step|phase|section|part|chapter|stage|rule|gate)\s+)?(\d+(?:\.\d+)*[a-z]?)[.:)\s—–-]+(.+)$", re.IGNORECASE)  # fmt: skip


def judge_edit(
    before: Bundle, after: Bundle, elsewhere: Sequence[Bundle] = ()
) -> tuple[Edits, list[Finding]]:
    """Return what an edit did and the findings of it, worst first; `elsewhere` as for `edits_between`."""
    edits = edits_between(before, after, elsewhere)
    findings = [
        *_changed(edits), *place_findings(edits), *link_findings(edits), *_lost(edits), *_gone_files(edits), *exchanged_pages(edits), *_changed_files(edits), *_emptied(edits), *_emptied_pages(edits), *pointer_findings(edits), *_positions(edits),
        *_links(before, after), *_security(before, after), *_told(edits),
    ]  # fmt: skip
    order = list(edit_rules())
    rank = {"high": 0, "medium": 1, "low": 2, "info": 3}
    findings.sort(
        key=lambda one: (rank[one.severity], order.index(one.rule) if one.rule in order else -1)
    )
    return edits, findings


def edit_finding(
    rule: str,
    before: Unit | None,
    after: Unit | None,
    message: str = "",
    severity: FindingSeverity | None = None,
) -> Finding:
    unit = after or before
    assert unit is not None
    entry = edit_rules()[rule]
    return Finding(
        rule=rule, severity=severity or entry.severity, file=unit.file, line=unit.start,
        source_text=cut_text(before.text if before else None),
        variant_text=cut_text(after.text if after else None), message=message or entry.what,
    )  # fmt: skip


# ---- texts that differ ----------------------------------------------------------------------------


def _changed(edits: Edits) -> Iterator[Finding]:
    reworded = [edit for edit in edits.edits if edit.kind == "reworded"]
    renamed = _renamings(reworded)
    told = set[tuple[str, str]]()
    standing = _standing(edits)
    known = _values(units_of(edits.after))
    for edit in reworded:
        before, after = edit.before, edit.after
        assert before
        assert after
        if before.kind == "field":
            yield from _field(before, after)
            continue
        own = [change for change in edit.changes if (change.old, change.new) not in renamed]
        for change in edit.changes:
            pair = change.old, change.new
            if pair in renamed and pair not in told:
                told.add(pair)
                message = f"renamed in {renamed[pair]} places: {change.old} → {change.new}"
                yield edit_finding("edit.renamed", before, after, message)
        small = edit.in_place and _is_small(edit)
        serious = [c for c in own if c.type in SERIOUS and not _is_corrected(c, after, known)]
        named = [c for c in own if c.type in NAMED]
        if serious:
            change = serious[0]
            alone = small and standing[id(after)]
            message = change_message(change)
            yield edit_finding(
                f"edit.{change.type}", before, after, message, None if alone else "medium"
            )
        elif named:
            yield edit_finding(f"edit.{named[0].type}", before, after)
        elif own and before.kind == "row":
            yield edit_finding("edit.row", before, after)
        elif own and is_duty(before):
            yield edit_finding("edit.duty", before, after)
        elif own:
            yield edit_finding("edit.reworded", before, after)


def change_message(change: Change) -> str:
    """What a change is, and its words before and after."""
    what = edit_rules()[f"edit.{change.type}"].what
    return f"{what}: {change.old or '(nothing)'} → {change.new or '(nothing)'}"


def _field(before: Unit | None, after: Unit | None) -> Iterator[Finding]:
    """A field of the frontmatter that changed, came or went."""
    unit = after or before
    assert unit
    key = field_key(unit)
    if key in TOOLS:
        yield edit_finding("edit.tools", before, after, severity=None if before else "medium")
    elif before and key in LOADED_BY:
        yield edit_finding("edit.field", before, after)
    elif before and key not in INFORMING:
        yield edit_finding("edit.reworded" if after else "edit.lost", before, after)


def _is_small(edit: Edit) -> bool:
    """Whether the text is otherwise the same: few words differ."""
    assert edit.before
    assert edit.after
    code = edit.before.kind == "code"
    size = max(len(words_of(unit.text, code=code)) for unit in (edit.before, edit.after))
    differ = sum(max(len(c.old.split()), len(c.new.split())) for c in edit.changes)
    return differ <= max(2, size // 3)


def _renamings(reworded: Sequence[Edit]) -> Mapping[tuple[str, str], int]:
    """Names and words that were replaced in several texts alike; any change of case alone counts as one."""
    counts = Counter(
        pair
        for edit in reworded
        for pair in {(c.old, c.new) for c in edit.changes if c.old and c.new and c.type in _RENAMED}
    )
    recased = sum(old.lower() == new.lower() for old, new in counts)
    return {
        (old, new): count
        for (old, new), count in counts.items()
        if (recased if old.lower() == new.lower() else count) >= _OFTEN
    }


def _standing(edits: Edits) -> Mapping[int, bool]:
    """Text of either version -> whether most texts around it are in both; a lost item counts as one text."""
    standing, heads = {}, _heads(edits.before)
    lost = {id(edit.before) for edit in edits.edits if edit.kind == "lost"}
    for side in ("after", "before"):
        pages: dict[str, list[tuple[Unit, bool]]] = defaultdict(list)
        for edit in edits.edits:
            unit = getattr(edit, side)
            head = heads.get(id(unit), unit)
            if unit and (head is unit or not {id(unit), id(head)} <= lost):
                pages[unit.file].append((unit, edit.kind in {"kept", "moved", "merged"}))
        for page in pages.values():
            page.sort(key=lambda entry: entry[0].start)
            same = [stands for _, stands in page]
            for place, (unit, _) in enumerate(page):
                around = same[max(0, place - _NEAR) : place] + same[place + 1 : place + 1 + _NEAR]
                standing[id(unit)] = not around or sum(around) >= _STANDS * len(around)
    return standing


_Trio = tuple[str, str, str]


def _values(units: Iterable[Unit]) -> Counter[_Trio]:
    """How often a word stands between two others in the texts of a version."""
    counts: Counter[_Trio] = Counter()
    for unit in units:
        if unit.kind in CONTENT_KINDS:
            counts.update(_trios(unit))
    return counts


def _trios(unit: Unit) -> Iterator[_Trio]:
    words = ["", *words_of(unit.text, code=unit.kind == "code"), ""]
    return zip(words, words[1:], words[2:], strict=False)


def _is_corrected(change: Change, after: Unit, known: Counter[_Trio]) -> bool:
    """Whether other texts say the new value between the same words, and none says the old one."""
    old, new = change.old.split()[-1:], change.new.split()[-1:]
    if change.type not in {"number", "unit", "name"} or not old or not new:
        return False
    return any(
        known[trio] > _OFTEN and not known[trio[0], old[0], trio[2]]
        for trio in _trios(after)
        if trio[1] == new[0] and (trio[0] or trio[2])
    )


# ---- texts that stand elsewhere -------------------------------------------------------------------


def place_findings(edits: Edits) -> Iterator[Finding]:
    """Texts that are the same but below another heading, in another order, or at another level."""
    pairs = [
        (edit.before, edit.after) for edit in edits.edits
        if edit.before and edit.after and edit.kind != "reworded" and edit.before.kind != "field"
    ]  # fmt: skip
    yield from _contexts(edits, pairs)
    pages: dict[tuple[str, str], list[tuple[Unit, Unit]]] = defaultdict(list)
    homes: dict[str, list[tuple[str, ...]]] = defaultdict(list)
    for before, _ in pairs:
        homes[before.text].append((before.file, *before.headings[-1:]))
    single = {  # once in its section, and in one file
        text for text, found in homes.items()
        if len(set(found)) == len(found) and len({file for file, *_ in found}) == 1
    }  # fmt: skip
    sizes = Counter(edit.before.file for edit in edits.edits if edit.before)
    for before, after in pairs:
        pages[before.file, after.file].append((before, after))
    for page in pages.values():
        page.sort(key=lambda pair: pair[1].start)
        whole = len(page) >= _STANDS * sizes[page[0][0].file]
        yield from _disordered([pair for pair in page if pair[0].text in single], whole=whole)
        yield from _nested(page)


_Pairs = list[tuple[Unit, Unit]]


def _contexts(edits: Edits, pairs: _Pairs) -> Iterator[Finding]:
    """The first text of a section that stands below a heading which was another section of the source."""
    titles, titles_now = (
        {unit.text for unit in units_of(side) if unit.kind == "heading"}
        for side in (edits.before, edits.after)
    )
    told = set[tuple[str, str]]()
    for before, after in pairs:
        title, title_now = ("".join(unit.headings[-1:]) for unit in (before, after))
        if title == title_now or before.kind == "heading" or (title, title_now) in told:
            continue
        if title in titles_now and title_now in titles:
            told.add((title, title_now))
            message = f"text moved from below “{title}” to below “{title_now}”"
            yield edit_finding("edit.context", before, after, message)


def _disordered(page: _Pairs, *, whole: bool) -> Iterator[Finding]:
    """Texts whose neighbours in the source now stand on the other side of them: one finding a section.

    Texts that stand twice in a section are interchangeable and not among `page`; `whole`: nearly all of its file is.
    """
    kept = _rising([before.start for before, _ in page])
    told = set[tuple[str, ...]]()
    for place, (before, after) in enumerate(page):
        if place not in kept and after.headings not in told and _is_section(before, after, whole):
            told.add(after.headings)
            yield edit_finding("edit.order", before, after)


def _is_section(before: Unit, after: Unit, whole: bool) -> bool:
    """Whether a text is in the section where it was, or in the page that it became: as a whole, or as a list or code."""
    if before.file == after.file or whole:
        return before.headings[-1:] == after.headings[-1:]
    same = before.headings[-1:] == after.headings[-1:] or len(after.headings) <= 1
    return same and after.kind in {"item", "code"}


def _rising(numbers: Sequence[int]) -> set[int]:
    """Places of a longest rising run of numbers; equal numbers rise."""
    ends: list[int] = []
    last: list[int] = []
    before: list[int] = []
    for place, number in enumerate(numbers):
        at = bisect_right(ends, number)
        before.append(last[at - 1] if at else -1)
        if at == len(ends):
            ends.append(number)
            last.append(place)
        else:
            ends[at], last[at] = number, place
    kept, place = set(), last[-1] if last else -1
    while place >= 0:
        kept.add(place)
        place = before[place]
    return kept


def _nested(page: _Pairs) -> Iterator[Finding]:
    """Items and headings at another level, by more than the page as a whole: one finding a section."""
    shifts = Counter(
        after.depth - before.depth for before, after in page if before.kind == "heading"
    )
    usual = shifts.most_common(1)[0][0] if shifts else 0
    told = set[tuple[str, ...]]()
    for before, after in page:
        if before.kind not in {"heading", "item"} or after.kind != before.kind:
            continue
        shift = after.depth - before.depth
        if shift != (usual if before.kind == "heading" else 0) and after.headings not in told:
            told.add(after.headings)
            yield edit_finding("edit.nesting", before, after)


def link_findings(edits: Edits) -> Iterator[Finding]:
    """Links of one label whose target is another file or heading, though the old one is still there."""
    sides: list[dict[tuple[str, str], list[Unit]]] = []
    for side in (edits.before, edits.after):
        links: dict[tuple[str, str], list[Unit]] = defaultdict(list)
        for unit in units_of(side):
            if unit.kind == "link":
                label, _, _ = unit.text.rpartition(LINK_ARROW)
                links[label, "".join(unit.headings[-1:])].append(unit)
        sides.append(links)
    places = [_Targets(side) for side in (edits.before, edits.after)]
    for key, units in sides[0].items():
        for before, after in zip(units, sides[1].get(key, ()), strict=False):
            old, new = (side.of(unit) for side, unit in zip(places, (before, after), strict=True))
            if not old or not new or old == ("", ""):
                continue
            same = old[0] == new[0] and (old[1] == new[1] or not old[1] or not new[1])
            if not same and (old in places[1].known or "://" in old[0]):
                shown = [unit.text.rpartition(LINK_ARROW)[2] for unit in (before, after)]
                message = f"a link leads to {shown[1]}, before to {shown[0]}"
                yield edit_finding("edit.target", before, after, message)


_Target = tuple[str, str]
"""A file by its name ("" for a root) and the title of a heading in it ("" for the whole); or an address."""


class _Targets:
    """What the links of a version lead to; a file in a fence or section of a page counts as a file."""

    def __init__(self, bundle: Bundle) -> None:
        self._anchors: dict[str, dict[str, _Target]] = {}
        self.known: set[_Target] = {(_file_name(path), "") for path in bundle.files}
        for path, blob in bundle.files.items():
            text = read_text(blob) if is_markdown(path) else None
            if text is None:
                continue
            markdown = markdown_index(text.lines)
            files = list(embedded_files(markdown))
            homes = {
                line: _file_name(one.path) for one in files
                for line in range(one.heading.start, one.section_end)
            }  # fmt: skip
            heads = {one.heading.start for one in files}
            self._anchors[path] = {
                markdown.anchor_at[one.start]: (
                    homes.get(one.start, _file_name(path)),
                    "" if one.start in heads else visible_text(one.title).casefold(),
                )
                for one in markdown.headings
            }
            self.known.update(self._anchors[path].values())
            self.known.update((_file_name(one.path), "") for one in files)

    def of(self, link: Unit) -> _Target | None:
        """What a link leads to; None if it leads nowhere."""
        target = link.text.rpartition(LINK_ARROW)[2]
        file, _, anchor = target.partition("#")
        if "://" in target:
            return target, ""
        if not file:
            return self._anchors.get(link.file, {}).get(anchor)
        path = normpath(join(dirname(link.file), unquote(file)))
        return self._anchors.get(path, {}).get(anchor, (_file_name(path), ""))


def _file_name(path: str) -> str:
    return "" if is_root_name(path) else basename(path)


# ---- texts that are gone --------------------------------------------------------------------------


def is_duty(unit: Unit) -> bool:
    return unit.kind in {"item", "row", "statement"} and bool(
        _STRICT_DUTY.search(_QUOTED.sub(" ", unit.text))
    )


def _over(unit: Unit) -> str:
    """The lead or heading that makes a rule of an item; "" if none does."""
    above = (unit.lead, *unit.headings[-1:]) if unit.kind == "item" else ()
    return next((text for text in above if _RULING.search(_QUOTED.sub(" ", text))), "")


def _heads(bundle: Bundle) -> dict[int, Unit]:
    """Sentence of a list item -> the first one of the item, which is the rule if the list has rules."""
    texts = {path: blob.text or "" for path, blob in bundle.files.items() if is_markdown(path)}
    lines = {path: text.split("\n") for path, text in texts.items()}
    items = [unit for unit in units_of(bundle) if unit.kind == "item"]
    heads: dict[int, Unit] = {}
    for unit, last in zip(items, [None, *items], strict=False):
        marked = _ITEM.match(lines[unit.file][unit.start - 1])
        same = last and last.file == unit.file and (last.start == unit.start or not marked)
        heads[id(unit)] = heads[id(last)] if same else unit
    return heads


def _stems(text: str) -> frozenset[str]:
    empty = words_named()["empty"]
    return frozenset(
        word.lower()[:6]
        for word in plain_words(text)
        if word.lower() not in empty and len(word) > 1
    )


class Holders:
    """The texts of the version after, to ask which of them holds the words of a duty."""

    def __init__(self, units: Sequence[Unit]) -> None:
        self._words = [_stems(unit.text) for unit in units]
        self._units = units
        self._index: dict[str, list[int]] = defaultdict(list)
        for number, words in enumerate(self._words):
            for word in words:
                self._index[word].append(number)

    def holds(self, unit: Unit) -> bool:
        words = _stems(unit.text)
        if len(words) < 2:
            return False
        forbids = _FORBIDDING.search(f"{_over(unit)} {unit.text}")
        obliges = _FORBIDDING if forbids else _OBLIGING
        counts: Counter[int] = Counter()
        for word in words:
            counts.update(self._index.get(word, ()))
        for number, _ in counts.most_common(20):
            holder = self._units[number]
            around = range(max(0, number - 1), min(number + 2, len(self._units)))
            near = [self._words[n] for n in around if self._units[n].file == holder.file]
            own = len(words & self._words[number]) >= _OWN * len(words)
            held = len(words & frozenset[str]().union(*near)) >= _HELD * len(words)
            if own and held and obliges.search(holder.text):
                return True
        return False


def _lost(edits: Edits) -> Iterator[Finding]:
    lost = [edit.before for edit in edits.edits if edit.kind == "lost" and edit.before]
    after = [*(edit.after for edit in edits.edits if edit.after), *edits.elsewhere]
    holders: Holders | None = None
    standing, heads = _standing(edits), _heads(edits.before)
    sections: dict[tuple[str, str], list[Unit]] = defaultdict(list)
    for unit in lost:
        head = heads.get(id(unit), unit)
        over = _over(unit) if unit is head and standing[id(unit)] else ""
        if unit.kind == "field":
            yield from _field(unit, None)
        elif over or is_duty(unit):
            holders = holders or Holders(after)
            if holders.holds(unit):
                yield edit_finding("edit.duty-said", unit, None)
            else:
                message = (
                    "" if is_duty(unit) else f"a duty is gone below “{cut_text(over.rstrip(':'))}”"
                )
                severity: FindingSeverity | None = None if standing[id(head)] else "medium"
                yield edit_finding("edit.duty-lost", unit, None, message, severity)
        elif unit.generated is None:
            title = unit.text if unit.kind == "heading" else "".join(unit.headings[-1:])
            sections[unit.file, title].append(unit)
    for edit in edits.edits:
        if edit.kind == "added" and edit.after and edit.after.kind == "field":
            yield from _field(None, edit.after)
    for (_, title), units in sections.items():
        first = units[0]
        where = f" below “{title}”" if title else ""
        yield edit_finding("edit.lost", first, None, f"{_count(len(units), 'text')} gone{where}")


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _gone_files(edits: Edits) -> Iterator[Finding]:
    """Files that are gone under any folder, and a text of both versions that still names or imports them."""
    left = [edit.after for edit in edits.edits if edit.after and edit.kind != "added"]
    names = {basename(path) for path in all_paths(edits.after, units_of(edits.after))}
    for path in edits.before.files:
        name = basename(path)
        if is_licence(path) or is_root_name(path) or name in names:
            continue
        stem = re.escape(name.removesuffix(".py"))
        imported = re.compile(rf"\bimport\b.*\b{stem}\b|\bfrom\s+{stem}\b")
        for unit in left:
            code = name.endswith(".py") and unit.kind == "code" and imported.search(unit.text)
            if code or re.search(rf"(?<![\w-]){re.escape(name)}\b", unit.text):
                message = f"{path} is gone{look_alike(path, edits.after.files)}, and this text still leads to it"
                yield edit_finding("edit.file-gone", None, unit, message)
                break


def exchanged_pages(edits: Edits) -> Iterator[Finding]:
    """Pages whose text stands in another page of the source now, and the reverse; leading folders apart."""
    homes: dict[str, Counter[str]] = defaultdict(Counter)
    for edit in edits.edits:
        if edit.before and edit.after and edit.kind in {"kept", "moved"}:
            homes[edit.before.file][edit.after.file] += 1
    names: dict[str, str] = {}  # page of the source -> the page of its name now
    for path in homes:
        found_now = [other for other in edits.after.files if is_tail(path, other)]
        if len(found_now) == 1 and not is_root_name(path):
            names[path] = found_now[0]
    sources = {name: path for path, name in names.items()}
    for path, name in names.items():
        home, most = homes[path].most_common(1)[0]
        left = home != name and 2 * most > homes[path].total() and not homes[path][name]
        if left and home in sources and homes[sources[home]][name]:
            message = f"the text of {path} is in {home} now, and the reverse"
            yield Finding(rule="edit.exchanged", severity="high", file=name, message=message)


def _changed_files(edits: Edits) -> Iterator[Finding]:
    """Files whose bytes changed and that have no text to compare."""
    for pair in edits.files.altered:
        blob = edits.after.files.get(pair.after.file)
        if pair.change == "content" and blob is not None and blob.text is None:
            yield edit_finding("edit.file", None, pair.after, f"{pair.after.file} changed")


def _emptied_pages(edits: Edits) -> Iterator[Finding]:
    """Pages that are still there, all of whose text below the headings is gone and none came."""
    had, gone, left = Counter[str](), Counter[str](), set[str]()
    for edit in edits.edits:
        if edit.after and edit.after.kind not in {"heading", "field"}:
            left.add(edit.after.file)
        if edit.before and edit.before.kind not in {"heading", "field"}:
            had[edit.before.file] += 1
            gone[edit.before.file] += edit.kind == "lost"
    for path, count in had.items():
        if gone[path] == count and path in edits.after.files and path not in left:
            message = f"all text of {path} is gone"
            yield Finding(rule="edit.emptied", severity="high", file=path, line=1, message=message)


def _emptied(edits: Edits) -> Iterator[Finding]:
    whole, now, lost = (
        sum(len(unit.text) for unit in units)
        for units in (
            (edit.before for edit in edits.edits if edit.before),
            (edit.after for edit in edits.edits if edit.after),
            (edit.before for edit in edits.edits if edit.before and edit.kind == "lost"),
        )
    )
    if lost > _EMPTIED * whole and now < whole / 2:
        root = next((path for path in edits.after.files if is_root_name(path)), "")
        message = f"{round(100 * lost / whole)} % of the text is gone"
        yield Finding(rule="edit.emptied", severity="high", file=root, message=message)


# ---- what leads to a place ------------------------------------------------------------------------


def _titles(units: Iterable[Unit]) -> dict[tuple[str, str], str]:
    """(word, number) of each numbered heading -> its title."""
    titles: dict[tuple[str, str], str] = {}
    for unit in units:
        if unit.kind == "heading" and (match := _NUMBERED.match(unit.text)):
            for word in {(match[1] or "").lower(), ""}:
                titles.setdefault((word, match[2].lower()), match[3].lower())
    return titles


def pointer_findings(edits: Edits) -> Iterator[Finding]:
    """Mentions of a step that led to a heading before and lead to another, or to none, now."""
    before, after = (_titles(units_of(side)) for side in (edits.before, edits.after))
    renumbered = sum(any(c.type == "pointer" for c in edit.changes) for edit in edits.edits) > 1
    moved = {title: number for (_, number), title in after.items()}
    for edit in edits.edits:
        unit = edit.after
        if unit is None or unit.kind in {"heading", "code"} or edit.kind == "added":
            continue
        if edit.kind == "reworded":
            yield from _repointed(edit, before, after, renumbered)
            continue
        for match in POINTER.finditer(unit.text):
            word, number = match[1].lower().removesuffix("s"), match[2].lower()
            title = before.get((word, number))
            if title is None or (now := after.get((word, number))) == title:
                continue
            if now is None or not _alike(title, now):
                to = f", now {word} {moved[title]}" if title in moved else ""
                yield edit_finding(
                    "edit.pointer", edit.before, unit, f"{match[0]} was “{title}”{to}"
                )
                break


def _positions(edits: Edits) -> Iterator[Finding]:
    """Moved texts that say "the NOUN above" and have no such noun above them any more, as they had."""
    pages = {side: defaultdict[str, list[Unit]](list) for side in ("before", "after")}
    for edit in edits.edits:
        for side, page in pages.items():
            if unit := getattr(edit, side):
                page[unit.file].append(unit)
    for edit in edits.edits:
        if edit.kind not in {"moved", "reworded"} or not edit.before or not edit.after:
            continue
        if edit.before.file == edit.after.file or edit.after.kind in {"heading", "code"}:
            continue
        for match in _POSITION.finditer(edit.after.text):
            noun, above = match[1].lower(), match[2].lower() == "above"
            stood, stands = (
                any(
                    (unit.start < here.start) == above and unit.start != here.start
                    and noun in unit.text.lower()
                    for unit in pages[side][here.file]
                )
                for side, here in (("before", edit.before), ("after", edit.after))
            )  # fmt: skip
            if stood and not stands:
                message = f"“{match[0]}” is in another file now"
                yield edit_finding("edit.pointer", edit.before, edit.after, message)
                break


def _repointed(
    edit: Edit,
    before: Mapping[tuple[str, str], str],
    after: Mapping[tuple[str, str], str],
    renumbered: bool,
) -> Iterator[Finding]:
    """A step number that was changed, unless its heading was renumbered with it."""
    assert edit.before
    assert edit.after
    if not any(change.type == "pointer" for change in edit.changes):
        return
    fixed = before == after and not renumbered
    old, new = (
        [
            (match[1].lower().removesuffix("s"), match[2].lower())
            for match in POINTER.finditer(unit.text)
        ]
        for unit in (edit.before, edit.after)
    )
    for was, now in zip(old, new, strict=False):
        title, title_now = (
            before.get(was) or before.get(("", was[1])),
            after.get(now) or after.get(("", now[1])),
        )
        if was != now and (title is None or not title_now or not _alike(title, title_now)):
            small = (
                edit.in_place
                and _is_small(edit)
                and (fixed if title is None else after.get(was) == title)
            )
            message = f"{was[0]} {was[1]} → {now[0]} {now[1]}" + (
                f", which is “{title_now}”" if title_now else ""
            )
            yield edit_finding(
                "edit.pointer", edit.before, edit.after, message, "high" if small else "medium"
            )
            return


def _alike(title: str, other: str) -> bool:
    words, others = set(title.split()), set(other.split())
    return 2 * len(words & others) >= min(len(words), len(others))


def _links(before: Bundle, after: Bundle) -> Iterator[Finding]:
    """Links and scripts in commands that lead nowhere now: red where the file was there, or a link is new."""
    gone = {basename(path) for path in before.files} - {basename(path) for path in after.files}
    for finding in HygieneGate().check(before, after, "", "strict").findings:
        target, rule = finding.variant_text or "", finding.rule.partition(".")[2]
        if finding.inherited:
            continue
        if rule == "broken-link":
            place = basename(target.partition("#")[0])
            new = "link" if place in gone or not _leaves(finding.file, target, after) else ""
        elif rule == "unresolved-command":
            new = "link" if basename(target.split()[-1]) in gone else ""
        else:
            named = rule == "unresolved-mention" and target.lstrip("./").startswith("references/")
            new = "anchor" if named or rule == "broken-anchor" else ""
        if new:
            severity = edit_rules()[f"edit.{new}"].severity
            message = finding.message.partition(";")[0]
            update = {"rule": f"edit.{new}", "severity": severity, "message": message}
            yield finding.model_copy(update=update)


def _leaves(file: str, target: str, bundle: Bundle) -> bool:
    """Whether a link leads out of its Skill, where nothing is known of it."""
    place = normpath(join(dirname(file), target.partition("#")[0]))
    return not any(
        place.startswith(f"{skill.directory}/") or skill.directory in {"", "."}
        for skill in bundle.skills
    )


_SECURITY_RED = frozenset({
    "security.remote-shell", "security.secret", "security.invisible", "security.look-alike", "security.agent-file", "security.program",
})  # fmt: skip


def _security(before: Bundle, after: Bundle) -> Iterator[Finding]:
    for finding in SecurityGate().check(before, after, "", "strict").findings:
        if not finding.inherited and finding.rule != "security.permission":
            severity = "high" if finding.rule in _SECURITY_RED else "low"
            if finding.rule in {"security.destructive", "security.override"}:
                severity = "medium"
            yield finding.model_copy(update={"severity": severity})


# ---- what is told ---------------------------------------------------------------------------------


def _told(edits: Edits) -> Iterator[Finding]:
    moved: Counter[tuple[str, str]] = Counter()
    added: dict[str, list[Unit]] = defaultdict(list)
    first: dict[tuple[str, str], Unit] = {}
    for edit in edits.edits:
        if (
            edit.kind == "moved"
            and edit.before
            and edit.after
            and edit.before.file != edit.after.file
        ):
            key = edit.before.file, edit.after.file
            moved[key] += 1
            first.setdefault(key, edit.after)
        elif edit.kind == "added" and edit.after:
            added[edit.after.file].append(edit.after)
    for key, count in moved.items():
        yield edit_finding(
            "edit.moved", None, first[key], f"{_count(count, 'text')} moved here from {key[0]}"
        ).model_copy(update={"variant_text": None})
    for units in added.values():
        yield edit_finding(
            "edit.added", None, units[0], f"{_count(len(units), 'text')} added"
        ).model_copy(update={"variant_text": None})
