"""The mutations that measure the gates: drift that they must flag, and harmless edits that they must pass.

`MUTATIONS`, at the end, is the table of kinds. A kind is a function that yields its places in a bundle; most change one
line by itself (`changed_lines`), and of these most its first match of a pattern (`first_matches`).
"""

import posixpath
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import pairwise
from pathlib import PurePosixPath
from typing import Any, NamedTuple

from markdown_it import MarkdownIt

from skilljuror.audit.comparison.code_paths import BundlePaths, is_absolute, path_literals
from skilljuror.audit.comparison.file_matching import file_path
from skilljuror.audit.comparison.inline_spans import command_spans
from skilljuror.audit.gates.mutations.sites import (
    MARK,
    Files,
    MutationSite,
    MutationTarget,
    Sites,
    block_around,
    changed_lines,
    first_matches,
    item_depths,
    shown,
    words_start,
)
from skilljuror.audit.gates.routing import FileRow, routes, rows_of
from skilljuror.audit.plans.render import can_shift, shift_line
from skilljuror.base.skill import Unit, is_licence, is_markdown, is_root_name
from skilljuror.skill.critical_tokens import critical_tokens
from skilljuror.skill.generated import marker_path, template_of_heading
from skilljuror.skill.markdown import PARSER, Heading, anchors, markdown_index


class Mutation(NamedTuple):
    """One kind of change."""

    drift: bool  # whether it changes what an agent must do; False for a benign one
    sites: Sites  # yields every possible site


# ---- one line ------------------------------------------------------------------------------------


_DUTY = r"\b(?:must|shall|should|always|never|only|ensure|avoid|required?|do not|don['’]t|need to|make sure)\b"
"""What makes a line a duty here; the gates have words of their own."""
_NUMBER = re.compile(r"(?<![\w.:/-])(\d+)(\.\d+)?(?![\w.]*[a-zA-Z_]|\.\d)")
_TWO_NUMBERS = re.compile(
    r"(?<![\w.:/-])(\d+(?:\.\d+)?)(?![\w.])(\D{2,60}?)(?<![\w.:/-])(\d+(?:\.\d+)?)(?![\w.])"
)
_STRONG = re.compile(r"\b(MUST|must|Must|ALWAYS|always|Always|REQUIRED|required)\b(?!\s+not)")
_WEAK = {"m": "should", "a": "usually", "r": "recommended"}
_NEGATION = re.compile(
    r"\b(do not|don't|DO NOT|Do not|Don't|never|Never|NEVER|must not|MUST NOT)\s+", re.ASCII
)
_UNIT = re.compile(
    r"(?<![\w.])(\d+(?:\.\d+)?\s?)(ms|MB|GB|KB|mm|cm|kHz|Hz|dB|seconds|minutes|hours|days|km|%|px|s)"
    r"(?![\w%])"
)
_OTHER_UNIT = {
    "ms": "s", "MB": "GB", "GB": "MB", "KB": "MB", "mm": "cm", "cm": "mm", "kHz": "Hz",
    "Hz": "kHz", "dB": "LUFS", "seconds": "minutes", "minutes": "hours", "hours": "days",
    "days": "weeks", "km": "m", "%": " px", "px": "pt", "s": "ms",
}  # fmt: skip
_COMPARATOR = re.compile(
    r"<=|>=|≤|≥|(?<=\s)[<>](?=\s?[\d$])|\bat least\b|\bat most\b|\bless than\b|\bmore than\b"
    r"|\bgreater than\b|\bfewer than\b|\bbelow(?=\s+\d)|\babove(?=\s+\d)"
)
_TURNED = {
    "<=": ">=", ">=": "<=", "≤": "≥", "≥": "≤", "<": ">", ">": "<", "at least": "at most",
    "at most": "at least", "less than": "more than", "more than": "less than",
    "greater than": "less than", "fewer than": "more than", "below": "above", "above": "below",
}  # fmt: skip
_ANTONYMS = """
smallest largest, small large, smaller larger, short long, shorter longer, first last, early late, fast slow,
faster slower, easy difficult, simple complex, good bad, better worse, best worst, correct wrong, new old,
high low, higher lower, highest lowest, many few, reliably rarely, often rarely, clear unclear, valid invalid,
safe unsafe, known unknown, public private, internal external, explicit implicit, static dynamic, manual automatic,
include exclude, includes excludes, add remove, adding removing, open close, enable disable, enabled disabled,
increase decrease, increases decreases, keep discard, pass fail, passes fails, show hide, shows hides, input output,
read write, upper lower, left right, top bottom, start end, begin finish, full empty, complete incomplete,
separate combined, local remote, specific general, strict lenient, strong weak, same different, success failure,
positive negative, direct indirect, necessary unnecessary, related unrelated, source symptom, inside outside
"""
_OPPOSITE = {
    word: other
    for pair in (entry.split() for entry in _ANTONYMS.split(","))
    for word, other in (pair, pair[::-1])
}
_ANTONYM = re.compile(
    rf"(?<![\w-])(?:{'|'.join(sorted(_OPPOSITE, key=len, reverse=True))})(?![\w-])", re.IGNORECASE
)
_CONJUNCTION = re.compile(r"(?<=[\w,)] )(and|or)(?= [\w(])(?! so on| more| not\b)")
_QUANTIFIER = re.compile(
    r"(?<!at )(?<!after )(?<!above )\b(all|every|each)\b(?= [a-z]{3})(?! other)"
)
_ROLE = re.compile(r"\b(the|your) (user|agent|human partner|assistant|model)(s?)(?![\w-]|'s? own)")
_OTHER_ROLE = {
    "user": "agent", "agent": "user", "human partner": "agent", "assistant": "user", "model": "user",
}  # fmt: skip
_FLAG = re.compile(r"(?<=\s)--([a-z]{3,})")
_ADDRESS = re.compile(r"(https?://[\w.-]+/(?:[\w.~%-]+/)*[\w.~%-]*\w)")
_CONDITION = re.compile(
    r"(?<![^.!?:] )\b(?:If|When|Unless|For(?! example| instance| more)|Before|After|Once) [^,.;:()]{6,90}, (?:then )?(?=\w)"
    r"|,? \b(?:if|unless|only if|when|until|except(?: when| for)?) [^.,;:()]{6,90}(?=[.;]|$)"
)
_STRIKING = MarkdownIt("commonmark").enable("strikethrough")


def _opposite(match: re.Match[str]) -> str:
    word = _OPPOSITE[match[0].lower()]
    return word.upper() if match[0].isupper() else word.capitalize() if match[0].istitle() else word


def _without_threshold(line: str) -> str | None:
    kinds = {token.partition(":")[0] for token in critical_tokens(MARK.sub("", line))}
    limit = any(char.isdigit() for char in MARK.sub("", line)) and kinds & {"cmp", "mod"}
    return None if limit and len(line) > 15 else line


def _without_condition(line: str) -> str:
    """Delete the condition of a sentence, at its beginning or end."""
    for match in shown(_CONDITION, line):
        before, rest = line[: match.start()], line[match.end() :]
        left = f"{re.split(r'[.!?:] ', before[words_start(line) :])[-1]} {re.split(r'[.!?:](?: |$)', rest)[0]}"
        if not match[0].count("**") % 2 and len(left.split()) >= 3:
            return before + (rest[:1].upper() + rest[1:] if match[0][:1].isupper() else rest)
    return line


def _struck_out(line: str) -> str:
    """Two tildes around a duty that a page shows struck out then."""
    start, text = words_start(line), line.strip()
    if not re.search(_DUTY, line, re.I) or {*"~|"} & {*line} or not text[-1:].strip("*_`"):
        return line
    after = f"~~{line[start:].rstrip()}~~"
    return line[:start] + after if "<s>" in _STRIKING.renderInline(after) else line


_LOOK_ALIKE = str.maketrans(
    "aeopcxAEOPCTHKMB",
    "\u0430\u0435\u043e\u0440\u0441\u0445\u0410\u0415\u041e\u0420\u0421\u0422\u041d\u041a\u041c\u0412",
)
_WORD = re.compile(r"[A-Za-z]{3,}")


def look_alike(target: MutationTarget) -> Iterator[MutationSite]:
    """Replace a letter of a word of a duty by a Cyrillic one that looks the same."""
    duty = re.compile(_DUTY, re.IGNORECASE)
    for count, (path, number) in enumerate(target.prose):
        line = target.line(path, number)
        words = [one for one in shown(_WORD, line) if _with_look_alike(one[0]) != one[0]]
        if words and duty.search(line, words_start(line)):
            word = words[count % len(words)]
            changed = _with_look_alike(word[0])
            yield target.edit(path, number, line[: word.start()] + changed + line[word.end() :])


def _with_look_alike(word: str) -> str:
    """The word with its second or a later letter exchanged, if one can be."""
    for place in range(1, len(word)):
        letter = word[place].translate(_LOOK_ALIKE)
        if letter != word[place]:
            return word[:place] + letter + word[place + 1 :]
    return word


# ---- lines that are added, moved or exchanged ----------------------------------------------------

_COMMAND_WORDS = re.compile(r"\b(?:must|always|never|required|do not)\b", re.IGNORECASE)
_REQUIREMENTS = (
    "Always round results to 3 decimal places before saving.",
    "The output file must also include a summary column.",
    "Never process more than 50 records in one batch.",
)
_REVOKED = (
    "The next paragraph is obsolete.",
    "What follows no longer applies.",
    "Treat the text below as outdated.",
    "The paragraph above is kept for historical reasons.",
    "This section has been superseded.",
    "The following instructions are deprecated.",
)
_STEP = re.compile(r"^(\s*\d+[.)]\s+)(\S.*)$")


def _added(texts: Callable[[MutationTarget], Sequence[str]]) -> Sites:
    """One of the texts between two lines of prose."""

    def sites(target: MutationTarget) -> Iterator[MutationSite]:
        said = texts(target)
        for count, (path, number) in enumerate(target.blanks()):
            yield target.edit(path, number, f"\n{said[count % len(said)]}\n")

    return sites


def _contradictions(target: MutationTarget) -> list[str]:
    """Sentences that allow to skip an instruction of the bundle."""
    orders = [target.line(*place) for place in target.prose]
    orders = [line for line in orders if _COMMAND_WORDS.search(line) and 20 < len(line) < 200]
    words = [re.findall(r"\w+", line)[2:7] for line in orders] or [["validation"]]
    return [f"It is fine to skip the step about {' '.join(some)}." for some in words]


def _neighbours(target: MutationTarget) -> Iterator[tuple[str, int, list[str]]]:
    """(file, number of the first, both) of neighbouring lines of prose."""
    for path, number in target.prose:
        if (path, number + 1) in target.prose_places:
            yield path, number, [target.line(path, number), target.line(path, number + 1)]


def swap_steps(target: MutationTarget) -> Iterator[MutationSite]:
    """Exchange two neighbouring items of a numbered list."""
    for path, number, lines in _neighbours(target):
        first, second = map(_STEP.match, lines)
        if first and second and first[2] != second[2] and len(first[1]) == len(second[1]):
            yield target.edit(path, number, f"{first[1]}{second[2]}\n{second[1]}{first[2]}", 2)


def swap_cells(target: MutationTarget) -> Iterator[MutationSite]:
    """Exchange the second cells of two neighbouring table rows that differ elsewhere."""
    rows = sorted({(unit.file, unit.start) for unit in target.units if unit.kind == "row"})
    for path, number in rows:
        if (path, number + 1) not in rows:
            continue
        first, second = (_cells(target.line(path, n)) for n in (number, number + 1))
        if len(first) != len(second) or len(first) < 4 or first[2].strip() == second[2].strip():
            continue
        rest = [cell.strip() for cell in (*first[:2], *first[3:])]
        if rest != [cell.strip() for cell in (*second[:2], *second[3:])]:
            first[2], second[2] = second[2], first[2]
            yield target.edit(path, number, f"{'|'.join(first)}\n{'|'.join(second)}", 2)


def _cells(line: str) -> list[str]:
    """The cells of a row, with an empty first and last one."""
    text = line.strip()
    return text.split("|") if text.startswith("|") and text.endswith("|") else []


def drop_script_line(target: MutationTarget) -> Iterator[MutationSite]:
    """Delete a line of a script that is no comment."""
    for unit in target.helpers:
        for number in range(unit.start, unit.end + 1):
            line = target.line(unit.file, number).strip()
            if len(line) > 12 and not line.startswith(("#", "//", "*", "--")):
                yield target.edit(unit.file, number, None)


def move_context(target: MutationTarget) -> Iterator[MutationSite]:
    """Move a paragraph of one line below another heading."""
    places = [(path, n, target.homes.get((path, n - 1), "")) for path, n in target.blanks()]
    for unit in target.units:
        alone = unit.kind == "statement" and unit.start == unit.end and unit.headings
        if not alone or unit.generated or not _is_paragraph(target, unit):
            continue
        for path, number, home in places:
            if home and home != unit.headings[-1] and (path, number) != (unit.file, unit.start):
                line, make = target.line(unit.file, unit.start), partial(_moved, target, unit)
                yield MutationSite(unit.file, unit.start, line, line, partial(make, path, number))
                break
        places = places[1:] + places[:1]


def _is_paragraph(target: MutationTarget, unit: Unit) -> bool:
    lines = target.texts[unit.file].lines
    around = (lines[unit.start - 2] if unit.start > 1 else "", *lines[unit.start : unit.start + 1])
    line = lines[unit.start - 1]
    return (
        not any(text.strip() for text in around) and line[:1].isalnum() and not line.endswith(":")
    )


def _moved(target: MutationTarget, unit: Unit, path: str, number: int) -> Files:
    line = target.line(unit.file, unit.start)
    if path != unit.file:
        taken = target.replaced(unit.file, unit.start, [])
        return {**taken, **target.replaced(path, number, ["", line, ""])}
    lines = list(target.texts[path].lines)
    lines[number - 1 : number] = ["", line, ""]
    del lines[unit.start - 1 + (2 if number < unit.start else 0)]
    return {path: target.rewritten(path, lines)}


# ---- the order and level of sections and items ---------------------------------------------------

_NUMBERED = re.compile(r"\W*(?:step|phase|stage|part)?\s*\d+\b", re.IGNORECASE)
_PROCESS = re.compile(r"\b(?:workflow|process|procedure|steps|phases|cycle|pipeline)\b", re.I)
_LEAD = re.compile(r"^(?!\s*[|#>])(?=.*\w).*:(?:\*\*|__)?\s*$")
_LISTED = re.compile(r"^\s*(?:[-*+]|\d{1,9}[.)])\s+\S")
_ITEM = re.compile(r"^(\s*)([-*+]|\d{1,9}[.)])(\s+)(?=\S)")
_LEVELS = 2
_Range = tuple[int, int]


class _Section(NamedTuple):
    """A heading with all text below it; lines are 0-based and half-open."""

    level: int
    start: int
    title: str
    text_start: int
    end: int
    parent: str  # title of the section above without the titles of its sections; "" for none


def swap_sections(target: MutationTarget) -> Iterator[MutationSite]:
    """Exchange two neighbouring sections of a process: numbered ones, or those below a title that names
    a process, except in words of its sections' titles ("Options, Merge workflow")."""
    for path, first, second in _neighbouring_sections(target):
        numbered = _NUMBERED.match(first.title) and _NUMBERED.match(second.title)
        if numbered or _PROCESS.search(first.parent):
            yield _exchange(target, path, (first.start, first.end), (second.start, second.end))


def swap_contents(target: MutationTarget) -> Iterator[MutationSite]:
    """Exchange the text below the titles of two neighbouring sections."""
    for path, first, second in _neighbouring_sections(target):
        ranges = (first.text_start, first.end), (second.text_start, second.end)
        if all(
            any((path, n + 1) in target.prose_places for n in range(*lines)) for lines in ranges
        ):
            yield _exchange(target, path, *ranges)


def swap_conditions(target: MutationTarget) -> Iterator[MutationSite]:
    """Exchange two lines that each lead to a list of the same section."""
    homes = {(unit.file, unit.start): unit.headings for unit in target.units}
    for path, text in target.texts.items():
        lists = {
            number: _list_below(text.lines, number)
            for number in range(1, len(text.lines))
            if (path, number) in target.prose_places and _leads_to_list(text.lines, number)
        }
        for first, second in pairwise(lists):
            before, after = target.line(path, first), target.line(path, second)
            together = homes.get((path, first)) == homes.get((path, second))
            if together and before.strip() != after.strip() and lists[first] != lists[second]:
                yield _exchange(target, path, (first - 1, first), (second - 1, second))


def _leads_to_list(lines: Sequence[str], number: int) -> bool:
    """Whether a 1-based line ends in a colon, alone in its paragraph, and a list follows."""
    alone = number < 2 or not lines[number - 2].strip()
    plain = not _LISTED.match(lines[number - 1])
    return alone and plain and bool(_LEAD.match(lines[number - 1]) and _list_below(lines, number))


def _list_below(lines: Sequence[str], number: int) -> tuple[str, ...]:
    """The lines of the list that begins below a 1-based line, after one blank line at most."""
    start = number + 1 if number < len(lines) and not lines[number].strip() else number
    if start >= len(lines) or not _LISTED.match(lines[start]):
        return ()
    end = next((n for n in range(start, len(lines)) if not lines[n].strip()), len(lines))
    return tuple(lines[start:end])


def _neighbouring_sections(
    target: MutationTarget,
) -> Iterator[tuple[str, _Section, _Section]]:
    """(file, section, next section) of the same level, where an author wrote both titles."""
    for path in filter(is_markdown, target.texts):
        for first, second in pairwise(_sections(target.texts[path].lines)):
            made = _is_made(first.title) or _is_made(second.title)
            if first.level == second.level and first.end == second.start and not made:
                yield path, first, second


def _is_made(title: str) -> bool:
    return bool(marker_path(title) or template_of_heading(title))


def _sections(lines: Sequence[str]) -> list[_Section]:
    """The sections of a page, those of one level one after another."""
    headings = markdown_index(tuple(lines)).headings
    parents = [_above(headings, place) for place in range(len(headings))]
    words = _own_words([heading.title for heading in headings], parents)
    sections = []
    for place, heading in enumerate(headings):
        later = (other.start for other in headings[place + 1 :] if other.level <= heading.level)
        parent = parents[place]
        title = "" if parent is None else words[parent]
        end = next(later, len(lines))
        sections.append(
            _Section(heading.level, heading.start, heading.title, heading.end, end, title)
        )
    return sorted(sections)


def _above(headings: Sequence[Heading], place: int) -> int | None:
    before = range(place - 1, -1, -1)
    return next((n for n in before if headings[n].level < headings[place].level), None)


def _own_words(titles: Sequence[str], parents: Sequence[int | None]) -> list[str]:
    """Each title without those right below it."""
    words = list(titles)
    for number in sorted(range(len(titles)), key=lambda n: -len(titles[n])):
        parent = parents[number]
        if parent is not None and titles[number]:
            title = rf"(?<!\w){re.escape(titles[number])}(?!\w)"
            words[parent] = re.sub(title, " ", words[parent])
    return words


def _exchange(target: MutationTarget, path: str, first: _Range, second: _Range) -> MutationSite:
    """The site that exchanges two ranges of lines."""
    (a, b), (c, d) = first, second
    lines = target.texts[path].lines
    make = partial(target.replaced, path, a + 1, [*lines[c:d], *lines[b:c], *lines[a:b]], d - a)
    return MutationSite(path, a + 1, lines[a], lines[c], make)


def demote_heading(target: MutationTarget) -> Iterator[MutationSite]:
    """Write a heading two levels down, but for the first of a page or of a file on it, its title."""
    for path in filter(is_markdown, target.texts):
        lines = target.texts[path].lines
        for before, heading in pairwise(markdown_index(lines).headings):
            made = _is_made(before.title) or _is_made(heading.title)
            if not made and can_shift([heading], _LEVELS):
                line = shift_line(lines[heading.start], _LEVELS)
                yield target.edit(path, heading.start + 1, line)


def nest_item(target: MutationTarget) -> Iterator[MutationSite]:
    """Indent an item of one line below the item before it."""
    for path, number, before, match in _items(target):
        above = _ITEM.match(before)
        if above and len(above[1]) == len(match[1]):
            marker = "1." if match[2][0].isdigit() else match[2]
            lead = f"{' ' * len(above[0])}{marker}{match[3]}"
            yield from _if_deeper(target, path, number, lead, 1)


def lift_item(target: MutationTarget) -> Iterator[MutationSite]:
    """Write a nested item of one line at the level of the item above it."""
    for path, number, _, match in _items(target):
        lines = reversed(target.texts[path].lines[: number - 1])
        outer = (one for one in map(_ITEM.match, lines) if one and len(one[1]) < len(match[1]))
        above = next(outer, None)
        if match[1] and above:
            yield from _if_deeper(target, path, number, above[0], -1)


def _items(target: MutationTarget) -> Iterator[tuple[str, int, str, re.Match[str]]]:
    """(file, line, the line before, its marker) of the items that stand alone on one line."""
    for path, number in target.prose:
        lines = target.texts[path].lines
        match = _ITEM.match(lines[number - 1])
        below = lines[number] if number < len(lines) else ""
        own = _ITEM.match(below)
        alone = not below.strip() or (own and match and len(own[1]) <= len(match[1]))
        if match and alone and (path, number - 1) in target.prose_places:
            yield path, number, lines[number - 2], match


def _if_deeper(
    target: MutationTarget, path: str, number: int, lead: str, levels: int
) -> Iterator[MutationSite]:
    """The site of an item with another indentation, if the page then has that line, and no other, so many lists deeper."""
    start, lines = block_around(target.texts[path].lines, number)
    place, after = number - 1 - start, _ITEM.sub(lambda _: lead, target.line(path, number))
    was = item_depths(lines)
    now = item_depths((*lines[:place], after, *lines[place + 1 :]))
    if now == tuple(depth + levels * (n == place) for n, depth in enumerate(was)):
        yield target.edit(path, number, after)


# ---- files, links and rows -----------------------------------------------------------------------

_LINK = re.compile(r"(?<!!)\[([^][\n`]+)\]\(([^()\s]+)\)")
_AIMED = re.compile(r"(?<!!)\[[^][\n]+\]\(([^()\s]+)\)")
_DULL = "see this file for more details."


def rename_script(target: MutationTarget) -> Iterator[MutationSite]:
    """Rename a script, on disk or in its marker."""
    for unit in target.helpers:
        path = file_path(unit)
        renamed = str(PurePosixPath(path).with_name(f"run_{PurePosixPath(path).name}"))
        if path == unit.file:
            files: Files = {path: None, renamed: target.bundle.files[path]}
            yield MutationSite(path, 0, path, renamed, partial(dict, files))
            continue
        for number in range(unit.start - 1, max(0, unit.start - 6), -1):
            line = target.line(unit.file, number)
            if f"`{path}`" in line:
                yield target.edit(unit.file, number, line.replace(f"`{path}`", f"`{renamed}`"))
                break


def drop_reference(target: MutationTarget) -> Iterator[MutationSite]:
    """Delete a supporting markdown file and the lines that name it."""
    roots = {skill.path for skill in target.bundle.skills}
    for path in target.texts:
        kept = is_root_name(path) or is_licence(path) or not is_markdown(path)
        if not kept and any(unit.file == path for unit in target.units):
            yield MutationSite(path, 0, path, "", partial(_without, target, path, roots))


def _without(target: MutationTarget, path: str, roots: set[str]) -> Files:
    files: Files = {path: None}
    for root in sorted(roots & set(target.texts)):
        name = path.removeprefix(f"{root.rpartition('/')[0]}/")
        lines = [line for line in target.texts[root].lines if name not in line]
        files[root] = target.rewritten(root, lines)
    return files


def retarget_link(target: MutationTarget) -> Iterator[MutationSite]:
    """Aim a link at another file of the bundle, or at another heading of its page."""
    for path, number in target.prose:
        line = target.line(path, number)
        for match in _AIMED.finditer(line):
            for other in _elsewhere(target, path, match[1]):
                after = line[: match.start(1)] + other + line[match.end(1) :]
                yield target.edit(path, number, after)


def _elsewhere(target: MutationTarget, path: str, aim: str) -> list[str]:
    """Another target for a link of a page, with other text; [] if there is none."""
    if aim.startswith("#"):
        below = _below_anchors(target, path)
        places = sorted(place for place in below if below[place] != below.get(aim))
    else:
        folder = posixpath.dirname(path) or "."
        aim = posixpath.normpath(aim.partition("#")[0])
        places = [posixpath.relpath(file, folder) for file in target.bundle.files if file != path]
        if aim not in places:
            return []
    after = [place for place in places if place > aim]
    return [place for place in (*after, *places) if place != aim][:1]


def _below_anchors(target: MutationTarget, path: str) -> dict[str, tuple[str, ...]]:
    """Anchor -> its heading and the lines below it, up to the next heading."""
    headings = [unit for unit in target.units if unit.file == path and unit.kind == "heading"]
    lines = target.texts[path].lines
    starts = [*(unit.start - 1 for unit in headings), len(lines)]
    names = anchors([unit.text for unit in headings])
    return {
        f"#{name}": tuple(lines[start:end])
        for name, (start, end) in zip(names, pairwise(starts), strict=True)
    }


def exchange_labels(target: MutationTarget) -> Iterator[MutationSite]:
    """Exchange the labels of two links of one line, or of two neighbouring lines."""
    for path, number in target.prose:
        line = target.line(path, number)
        for first, second in pairwise(_LINK.finditer(line)):
            if first[1] != second[1] and first[2] != second[2]:
                after = _relabelled(_relabelled(line, second, first[1]), first, second[1])
                yield target.edit(path, number, after)
                break
    for path, number, lines in _neighbours(target):
        one, other = map(_LINK.search, lines)
        if one and other and one[1] != other[1] and one[2] != other[2]:
            pairs = (lines[0], one, other[1]), (lines[1], other, one[1])
            yield target.edit(path, number, "\n".join(_relabelled(*pair) for pair in pairs), 2)


def _relabelled(line: str, link: re.Match[str], label: str) -> str:
    return line[: link.start(1)] + label + line[link.end(1) :]


def swap_files(target: MutationTarget) -> Iterator[MutationSite]:
    """Exchange the contents of two neighbouring supporting pages with their own rows."""
    leads = routes(target.bundle)
    rows = (row for page in set(leads.values()) for row in rows_of(target.bundle, page))
    alone = {row.files[0] for row in rows if len(row.files) == 1}
    pages = [path for path in target.texts if path in leads and path in alone and _is_page(path)]
    for first, second in pairwise(pages):
        before, after = target.bundle.files[first], target.bundle.files[second]
        if leads[first] == leads[second] and before.data.split() != after.data.split():
            files: Files = {first: after, second: before}
            yield MutationSite(first, 0, first, second, partial(dict, files))


def retarget_row(target: MutationTarget) -> Iterator[MutationSite]:
    """Point a row at another page of its bundle: its link only, and every mention of the page."""
    for row, others in _single_rows(target):
        line, old = target.line(row.page, row.start), _name(row.page, row.files[0])
        new = _name(row.page, others[0]) if others else old
        changed = (line.replace(f"]({old})", f"]({new})"), line.replace(old, new))
        yield from (target.edit(row.page, row.start, after) for after in changed if after != line)


def dull_cue(target: MutationTarget) -> Iterator[MutationSite]:
    """Replace the description in a row by one that fits any page."""
    for row, _ in _single_rows(target):
        line = target.line(row.page, row.start)
        end = _end_of_name(line, _name(row.page, row.files[0]))
        if end and len(line) > end + len(_DULL):
            yield target.edit(row.page, row.start, f"{line[:end]}: {_DULL}")


def _single_rows(target: MutationTarget) -> Iterator[tuple[FileRow, Sequence[str]]]:
    """Rows of one line that lead to one page, each with the other pages that it could lead to."""
    leads = routes(target.bundle)
    for page in dict.fromkeys(leads.values()):
        near = [path for path, other in leads.items() if other == page and _is_page(path)]
        for row in rows_of(target.bundle, page):
            alone = len(row.files) == 1 and row.start == row.end and _is_page(row.files[0])
            line = target.line(page, row.start)
            if alone and _name(page, row.files[0]) in line and line.lstrip()[:1] in "-*[|":
                after = [path for path in near if path > row.files[0]]
                yield row, [path for path in (*after, *near) if path != row.files[0]]


def _is_page(path: str) -> bool:
    return is_markdown(path) and not is_licence(path)


def _name(page: str, path: str) -> str:
    return path.removeprefix(f"{PurePosixPath(page).parent}/")


def _end_of_name(line: str, name: str) -> int:
    """End of the last link or name of a file in a row; 0 if the description comes before it."""
    place = line.rfind(name)
    end = place + len(name)
    while end < len(line) and line[end] in ")`*_]":
        end += 1
    return end if line[:place].count(" ") <= 2 else 0


def retarget_code_path(target: MutationTarget) -> Iterator[MutationSite]:
    """Shorten a path in code that leads into the bundle, as if the code ran from that folder: an
    absolute path becomes a name, a relative one loses its first folder."""
    paths = BundlePaths(target.bundle, target.units)
    for path, number in sorted({*target.listings, *target.prose}):
        line = target.line(path, number)
        code = (path, number) in target.listings
        for start, end in [(0, len(line))] if code else command_spans(line):
            after = _shorter(line[start:end], path, paths)
            if after is not None:
                yield target.edit(path, number, line[:start] + after + line[end:])
                break


def _shorter(code: str, page: str, paths: BundlePaths) -> str | None:
    """The code with the first such path shortened; None if there is none."""
    for literal in path_literals(code):
        bare = literal.rstrip("/")
        if "/" in bare and paths.place(literal, page) is not None:
            cut = posixpath.basename(bare) if is_absolute(bare) else bare.partition("/")[2]
            return code.replace(literal, cut, 1)
    return None


# ---- harmless ------------------------------------------------------------------------------------

_BOLD = re.compile(r"\*\*([A-Z][\w ]+)\*\*")
_BULLET = re.compile(r"^(\s*)- (?=\S)")
_KEPT = re.compile(
    r"(`[^`]*`|!?\[[^\]]{0,2000}\]\([^)]{0,2000}\)|https?://\S+|<[^>]{0,2000}>"
    r"|(?:(?<!\S)|(?<=[`)>])(?![`)>]))[^\s./_\\]{0,500}+[./_\\](?:[^\s\w]{0,100}+\w)++)"
)
"""Code, links, tags, and words with the signs of paths and names, up to their last letter."""
_ARTICLE = re.compile(r"\b(?:the|a|an) (?=[a-z])")
_SYNONYMS = {
    "use": "employ", "using": "with", "create": "make", "creates": "makes", "data": "information",
    "following": "listed", "provides": "gives", "different": "various", "example": "sample",
    "also": "additionally", "contains": "includes", "run": "execute", "check": "inspect",
    "section": "part", "multiple": "several", "show": "display", "find": "locate", "large": "big",
    "common": "frequent", "process": "handle", "specific": "particular", "start": "begin",
    "helps": "aids", "needed": "necessary",
}  # fmt: skip
_SYNONYM = re.compile(rf"\b(?:{'|'.join(sorted(_SYNONYMS))})\b")
_STRAIGHT = str.maketrans("‘’“”", "''\"\"")
_APOSTROPHE = re.compile(r"(?<=[a-z])'(?=[a-z])")
_CONTRACTIONS = {"n't": " not", "'re": " are", "'ll": " will", "'ve": " have"}
_CONTRACTION = re.compile(r"(?<=[a-z])(n't|'re|'ll|'ve)\b")
_LOST_LETTERS = {"a": "an", "o": "ill", "ha": "hall"}
_LOST = re.compile(r"\b((?i:[cws]))(a|o|ha) not\b")  # "can't" has lost a letter more than "isn't"
_LARGE = re.compile(r"(?<![\w.,:/-])(?:[1-9]\d{4,}|[1-9]\d{0,2}(?:,\d{3})+)(?![\w/-]|[.,:]\d)")
_EG = re.compile(r"\be\.g\.,?|\bfor example,", re.IGNORECASE)
_SPELLED = re.compile(
    r"\b((?:categor|custom|final|general|initial|minim|normal|optim|organ|priorit|recogn|summar|synchron)i)"
    r"([sz])(?=(?:e[ds]?|ing|ation)\b)|\b(behavi|col|fav|hon|lab)(ou?r)",
    re.IGNORECASE,
)
_BAR = re.compile(r"(?<!\\)\|")
_PARAPHRASED = 3  # one line in this many is paraphrased


def _outside(line: str, change: Callable[[str], str], *, once: bool = False) -> str:
    """Change the words of a line, except its code, links, paths and list marker."""
    start = words_start(line)
    parts = _KEPT.split(line[start:])
    for place in range(0, len(parts), 2):
        changed = change(parts[place])
        done, parts[place] = changed != parts[place], changed
        if once and done:
            break
    return line[:start] + "".join(parts)


def _rewrapped(line: str) -> str:
    """Break a long line of a paragraph in two."""
    at = line.rfind(" ", 0, 60)
    plain = line[:1].isalpha() and "`" not in line and "|" not in line
    fits = plain and len(line) > 80 and at > 20 and line[at + 1].isalpha()
    return f"{line[:at]}\n{line[at + 1 :]}" if fits else line


def _unmarked(line: str) -> str:
    """Remove the bold marks of some words."""
    return line if line.count("**") % 2 else _BOLD.sub(r"\1", line, count=1)


def _other_words(text: str) -> str:
    return _SYNONYM.sub(lambda match: _SYNONYMS[match[0]], text)


def _with_synonym(line: str) -> str:
    first = partial(_SYNONYM.sub, lambda match: _SYNONYMS[match[0]], count=1)
    return _outside(line, first, once=True) if len(line) > 50 else line


def _requoted(line: str) -> str:
    """Write the typographic quotes of a line straight; in a line without, apostrophes typographic."""
    straight = _outside(line, lambda text: text.translate(_STRAIGHT))
    return _outside(line, lambda text: _APOSTROPHE.sub("’", text)) if straight == line else straight


def _written_out(text: str) -> str:
    text = _CONTRACTION.sub(lambda match: _CONTRACTIONS[match[1]], text)
    return _LOST.sub(lambda match: match[1] + _LOST_LETTERS[match[2]] + " not", text)


def _other_comma(match: re.Match[str]) -> str:
    return match[0].replace(",", "") if "," in match[0] else f"{int(match[0]):,}"


def _other_example(match: re.Match[str]) -> str:
    short, long = ("E.g.,", "For example,") if match[0][0].isupper() else ("e.g.,", "for example,")
    return long if "." in match[0] else short


def _other_letter(match: re.Match[str]) -> str:
    if match[1]:
        return match[1] + ("z" if match[2] == "s" else "s")
    return match[3] + ("or" if match[4] == "our" else "our")


def none(target: MutationTarget) -> Iterator[MutationSite]:
    """Change nothing."""
    yield MutationSite("", 0, "", "", dict)


def bullets(target: MutationTarget) -> Iterator[MutationSite]:
    """Write every bullet of a file with another mark."""
    for path in sorted({path for path, _ in target.prose}):
        places = [place for place in target.prose if place[0] == path]
        if any(_BULLET.match(target.line(*place)) for place in places):
            make = partial(_each_changed, target, places, partial(_BULLET.sub, r"\1* "))
            yield MutationSite(path, 0, "- ", "* ", make)


def paraphrase(target: MutationTarget) -> Iterator[MutationSite]:
    """Paraphrase a third of all lines: without articles, with synonyms."""

    def change(line: str) -> str:
        without = partial(_ARTICLE.sub, "")
        long = len(line) > 40 and "|" not in line
        return _outside(line, lambda text: _other_words(without(text))) if long else line

    if places := target.prose[::_PARAPHRASED]:
        yield MutationSite("", 0, "", "", partial(_each_changed, target, places, change))


def _each_changed(
    target: MutationTarget, places: Iterable[tuple[str, int]], change: Callable[[str], str]
) -> Files:
    files: dict[str, list[str]] = {}
    for path, number in places:
        lines = files.setdefault(path, list(target.texts[path].lines))
        lines[number - 1] = change(lines[number - 1])
    return {path: target.rewritten(path, lines) for path, lines in files.items()}


def reference_links(target: MutationTarget) -> Iterator[MutationSite]:
    """Write a line's links as reference links, with their definitions at the end of the page, if the
    rendered block is the same."""
    for path, number in target.prose:
        line = target.line(path, number)
        links = [*_LINK.finditer(line)]
        after = line
        for count, link in reversed([*enumerate(links, 1)]):
            after = f"{after[: link.end(1)]}][ref-{count}]{after[link.end() :]}"
        lines = target.texts[path].lines
        defined = [f"[ref-{count}]: {link[2]}" for count, link in enumerate(links, 1)]
        start, block = block_around(lines, number) if links else (0, ())
        place = number - 1 - start
        shown = [*block[:place], after, *block[place + 1 :], "", *defined]
        if links and _page_html(shown) == _page_html(block):
            changed = [after, *lines[number:], "", *defined]
            make = partial(target.replaced, path, number, changed, len(lines) - number + 1)
            yield MutationSite(path, number, line, after, make)


def _page_html(lines: Sequence[str]) -> str:
    env: dict[str, Any] = {}
    tokens = [t for t in PARSER.parse("\n".join(lines), env) if t.type != "definition"]
    return str(PARSER.renderer.render(tokens, PARSER.options, env))


def table_realigned(target: MutationTarget) -> Iterator[MutationSite]:
    """Write the cells of a table without padding; a table without it, in columns of one width."""
    done = set[tuple[str, int]]()
    for path, number in sorted({(u.file, u.start) for u in target.units if u.kind == "row"}):
        start, lines = block_around(target.texts[path].lines, number)
        cells = [[cell.strip() for cell in _BAR.split(line.strip())] for line in lines]
        whole = all(row[0] == row[-1] == "" != "".join(row) for row in cells)
        if whole and (path, start) not in done:
            done.add((path, start))
            table = [f"|{'|'.join(f' {cell} ' for cell in row[1:-1])}|" for row in cells]
            if table == list(lines):
                width = max(len(cell) for row in cells for cell in row)
                table = [
                    f"|{'|'.join(f' {cell:<{width}} ' for cell in row[1:-1])}|" for row in cells
                ]
            yield target.edit(path, start + 1, "\n".join(table), len(lines))


# ---- the table -----------------------------------------------------------------------------------

_DRIFT: dict[str, Sites] = {
    "drop-threshold": changed_lines(
        _without_threshold
    ),  # a line with a number and a comparison or a modal
    "change-number": first_matches(_NUMBER, lambda match: f"{int(match[1]) + 1}{match[2] or ''}"),
    "weaken-must": first_matches(_STRONG, lambda match: _WEAK[match[1][0].lower()]),
    "drop-negation": first_matches(_NEGATION, lambda _: ""),
    "rename-script": rename_script,
    "drop-reference": drop_reference,
    "retarget-link": retarget_link,
    "contradict": _added(_contradictions),
    "add-requirement": _added(lambda _: _REQUIREMENTS),  # an unfounded instruction
    "swap-unit": first_matches(_UNIT, lambda match: match[1] + _OTHER_UNIT[match[2]]),
    "flip-comparator": first_matches(_COMPARATOR, lambda match: _TURNED[match[0]]),
    "swap-numbers": first_matches(_TWO_NUMBERS, lambda match: match[3] + match[2] + match[1]),
    "change-flag": changed_lines(partial(_FLAG.sub, r"--\1-all", count=1), code=True),
    "swap-steps": swap_steps,
    "swap-cells": swap_cells,
    "drop-script-line": drop_script_line,
    "move-context": move_context,
    "antonym": first_matches(_ANTONYM, _opposite),
    "swap-files": swap_files,
    "retarget-row": retarget_row,
    "dull-cue": dull_cue,
    "swap-sections": swap_sections,
    "swap-contents": swap_contents,
    "swap-conditions": swap_conditions,
    "retarget-code-path": retarget_code_path,
    "swap-conjunction": first_matches(
        _CONJUNCTION, lambda match: "or" if match[1] == "and" else "and", _DUTY
    ),
    "drop-condition": changed_lines(_without_condition),
    "weaken-quantifier": first_matches(_QUANTIFIER, lambda _: "some"),
    "swap-agent": first_matches(_ROLE, lambda match: f"the {_OTHER_ROLE[match[2]]}{match[3]}"),
    "strike-out": changed_lines(_struck_out),
    "revoke": _added(lambda _: _REVOKED),  # a line that says that text near it is obsolete
    "look-alike": look_alike,
    "change-address": changed_lines(partial(_ADDRESS.sub, r"\1-next", count=1)),
    "nest-item": nest_item,
    "lift-item": lift_item,
    "demote-heading": demote_heading,
    "exchange-labels": exchange_labels,
}
_BENIGN: dict[str, Sites] = {
    "none": none,
    "rewrap": changed_lines(_rewrapped),
    "emphasis": changed_lines(_unmarked),
    "bullets": bullets,
    "synonym": changed_lines(_with_synonym),
    "paraphrase": paraphrase,
    "quotes": changed_lines(_requoted),
    "contractions": changed_lines(partial(_outside, change=_written_out)),
    "reference-links": reference_links,
    "thousands-comma": first_matches(_LARGE, _other_comma),
    "eg": first_matches(_EG, _other_example),
    "spelling": first_matches(_SPELLED, _other_letter),
    "table-realigned": table_realigned,
}
MUTATIONS = {
    name: Mutation(drift, sites)
    for drift, kinds in ((True, _DRIFT), (False, _BENIGN))
    for name, sites in kinds.items()
}
"""name -> mutation, drift first."""
