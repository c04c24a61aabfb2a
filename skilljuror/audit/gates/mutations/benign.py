"""Changes that a gate should pass: other line breaks, marks and words."""

import re
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

from skilljuror.audit.gates.mutations.sites import (
    MARK,
    Files,
    MutationSite,
    MutationTarget,
    block_around,
    outside_spans,
)
from skilljuror.skill.markdown import PARSER

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
_LINK = re.compile(r"(?<!!)\[([^][\n`]+)\]\(([^()\s]+)\)")
_LARGE = re.compile(r"(?<![\w.,:/-])(?:[1-9]\d{4,}|[1-9]\d{0,2}(?:,\d{3})+)(?![\w/-]|[.,:]\d)")
_EG = re.compile(r"\be\.g\.,?|\bfor example,", re.IGNORECASE)
_SPELLED = re.compile(
    r"\b((?:categor|custom|final|general|initial|minim|normal|optim|organ|priorit|recogn|summar|synchron)i)"
    r"([sz])(?=(?:e[ds]?|ing|ation)\b)|\b(behavi|col|fav|hon|lab)(ou?r)",
    re.IGNORECASE,
)
_BAR = re.compile(r"(?<!\\)\|")
_PARAPHRASED = 3  # one line in this many is paraphrased


def none(target: MutationTarget) -> Iterator[MutationSite]:
    yield MutationSite("", 0, "", "", dict)


def rewrap(target: MutationTarget) -> Iterator[MutationSite]:
    """Break a long line of a paragraph in two."""
    for path, number in target.prose:
        line = target.line(path, number)
        at = line.rfind(" ", 0, 60)
        plain = line[:1].isalpha() and "`" not in line and "|" not in line
        if plain and len(line) > 80 and at > 20 and line[at + 1].isalpha():
            yield target.edit(path, number, f"{line[:at]}\n{line[at + 1 :]}")


def emphasis(target: MutationTarget) -> Iterator[MutationSite]:
    """Remove the bold marks of some words."""
    for path, number in target.prose:
        line = target.line(path, number)
        if _BOLD.search(line) and line.count("**") % 2 == 0:
            yield target.edit(path, number, _BOLD.sub(r"\1", line, count=1))


def bullets(target: MutationTarget) -> Iterator[MutationSite]:
    """Write every bullet of a file with another mark."""
    for path in sorted({path for path, _ in target.prose}):
        numbers = [n for file, n in target.prose if file == path]
        if any(_BULLET.match(target.line(path, n)) for n in numbers):
            yield MutationSite(path, 0, "- ", "* ", partial(_rebulleted, target, path, numbers))


def _rebulleted(target: MutationTarget, path: str, numbers: Sequence[int]) -> Files:
    lines = list(target.texts[path].lines)
    for number in numbers:
        lines[number - 1] = _BULLET.sub(r"\1* ", lines[number - 1])
    return {path: target.rewritten(path, lines)}


def synonym(target: MutationTarget) -> Iterator[MutationSite]:
    """Replace one word of a line by a synonym."""
    for path, number in target.prose:
        line = target.line(path, number)
        after = _outside(line, lambda text: _SYNONYM.sub(_other, text, count=1), once=True)
        if len(line) > 50 and after != line:
            yield target.edit(path, number, after)


def paraphrase(target: MutationTarget) -> Iterator[MutationSite]:
    """Paraphrase a third of all lines: without articles, with synonyms."""
    chance = [(path, n) for place, (path, n) in enumerate(target.prose) if not place % _PARAPHRASED]
    if chance:
        yield MutationSite("", 0, "", "", partial(_paraphrased, target, chance))


def _paraphrased(target: MutationTarget, places: Sequence[tuple[str, int]]) -> Files:
    files: dict[str, list[str]] = {}
    for path, number in places:
        lines = files.setdefault(path, list(target.texts[path].lines))
        line = lines[number - 1]
        if len(line) > 40 and "|" not in line:
            lines[number - 1] = _outside(
                line, lambda text: _SYNONYM.sub(_other, _ARTICLE.sub("", text))
            )
    return {path: target.rewritten(path, lines) for path, lines in files.items()}


def quotes(target: MutationTarget) -> Iterator[MutationSite]:
    """Write the typographic quotes of a line straight; in a line without, apostrophes typographic."""
    for path, number in target.prose:
        line = target.line(path, number)
        straight = _outside(line, lambda text: text.translate(_STRAIGHT))
        curved = _outside(line, lambda text: _APOSTROPHE.sub("’", text))
        after = curved if straight == line else straight
        if after != line:
            yield target.edit(path, number, after)


def contractions(target: MutationTarget) -> Iterator[MutationSite]:
    """Write the contractions of a line out."""
    for path, number in target.prose:
        line = target.line(path, number)
        after = _outside(line, _written_out)
        if after != line:
            yield target.edit(path, number, after)


def _written_out(text: str) -> str:
    text = _CONTRACTION.sub(lambda match: _CONTRACTIONS[match[1]], text)
    return _LOST.sub(lambda match: match[1] + _LOST_LETTERS[match[2]] + " not", text)


def reference_links(target: MutationTarget) -> Iterator[MutationSite]:
    """Write a line's links as reference links, with their definitions at the end of the page, if the
    rendered block is the same."""
    for path, number in target.prose:
        line = target.line(path, number)
        aims = [match[2] for match in _LINK.finditer(line)]
        after = line
        for count, link in enumerate(reversed([*_LINK.finditer(line)])):
            after = f"{after[: link.end(1)]}][ref-{len(aims) - count}]{after[link.end() :]}"
        lines = target.texts[path].lines
        defined = [f"[ref-{n}]: {aim}" for n, aim in enumerate(aims, 1)]
        start, block = block_around(lines, number) if aims else (0, ())
        place = number - 1 - start
        shown = [*block[:place], after, *block[place + 1 :], "", *defined]
        if aims and page_html(shown) == page_html(block):
            changed = [*lines[: number - 1], after, *lines[number:], "", *defined]
            make = partial(_rewritten, target, path, changed)
            yield MutationSite(path, number, line, after, make)


def _rewritten(target: MutationTarget, path: str, lines: Sequence[str]) -> Files:
    return {path: target.rewritten(path, lines)}


def _respelled(
    pattern: re.Pattern[str], spelling: Callable[[re.Match[str]], str]
) -> Callable[[MutationTarget], Iterator[MutationSite]]:
    """Return the mutation that spells one match of a line in another way, outside code and addresses."""

    def sites(target: MutationTarget) -> Iterator[MutationSite]:
        for path, number in target.prose:
            line = target.line(path, number)
            kept = outside_spans(line)
            for match in pattern.finditer(line):
                if not any(start < match.end() and match.start() < end for start, end in kept):
                    after = line[: match.start()] + spelling(match) + line[match.end() :]
                    yield target.edit(path, number, after)
                    break

    return sites


def _other_comma(match: re.Match[str]) -> str:
    return match[0].replace(",", "") if "," in match[0] else f"{int(match[0]):,}"


def _other_example(match: re.Match[str]) -> str:
    short, long = ("E.g.,", "For example,") if match[0][0].isupper() else ("e.g.,", "for example,")
    return long if "." in match[0] else short


def _other_letter(match: re.Match[str]) -> str:
    if match[1]:
        return match[1] + ("z" if match[2] == "s" else "s")
    return match[3] + ("or" if match[4] == "our" else "our")


thousands_comma = _respelled(_LARGE, _other_comma)
eg = _respelled(_EG, _other_example)
spelling = _respelled(_SPELLED, _other_letter)


def table_realigned(target: MutationTarget) -> Iterator[MutationSite]:
    """Write the cells of a table without padding; a table without it, in columns of one width."""
    rows = {(unit.file, unit.start) for unit in target.units if unit.kind == "row"}
    done = set[tuple[str, int]]()
    for path, number in sorted(rows):
        start, lines = block_around(target.texts[path].lines, number)
        cells = [[cell.strip() for cell in _BAR.split(line.strip())] for line in lines]
        if (path, start) in done or not all(
            row[0] == row[-1] == "" != "".join(row) for row in cells
        ):
            continue
        done.add((path, start))
        table = [f"|{'|'.join(f' {cell} ' for cell in row[1:-1])}|" for row in cells]
        if table == list(lines):
            width = max(len(cell) for row in cells for cell in row)
            table = [f"|{'|'.join(f' {cell:<{width}} ' for cell in row[1:-1])}|" for row in cells]
        make = partial(target.replaced, path, start + 1, table, len(lines))
        yield MutationSite(path, start + 1, "\n".join(lines), "\n".join(table), make)


def _other(match: re.Match[str]) -> str:
    return _SYNONYMS[match[0]]


def _outside(line: str, change: Callable[[str], str], *, once: bool = False) -> str:
    """Change the words of a line, except its code, links, paths and list marker."""
    mark = MARK.match(line)
    start = mark.end() if mark else 0
    parts = _KEPT.split(line[start:])
    for place in range(0, len(parts), 2):
        changed = change(parts[place])
        done, parts[place] = changed != parts[place], changed
        if once and done:
            break
    return line[:start] + "".join(parts)


def page_html(lines: Sequence[str]) -> str:
    """Return a page as HTML."""
    env: dict[str, Any] = {}
    tokens = [t for t in PARSER.parse("\n".join(lines), env) if t.type != "definition"]
    return str(PARSER.renderer.render(tokens, PARSER.options, env))
