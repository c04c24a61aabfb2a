"""Drift inside one line: the edits that change what an agent must do."""

import re
from collections.abc import Callable, Iterator

from skilljuror.audit.gates.mutations.sites import MARK, MutationSite, MutationTarget, outside_spans
from skilljuror.skill.critical_tokens import critical_tokens

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
_FLAG = re.compile(r"(?<=\s)--([a-z]{3,})")

Substitute = Callable[[re.Match[str]], str]


def _edits(
    target: MutationTarget, pattern: re.Pattern[str], change: Substitute
) -> Iterator[MutationSite]:
    for path, number in target.prose:
        line = target.line(path, number)
        mark = MARK.match(line)
        start = mark.end() if mark else 0
        hidden = outside_spans(line)
        for match in pattern.finditer(line, start):
            if any(a < match.end() and match.start() < b for a, b in hidden):
                continue
            after = line[: match.start()] + change(match) + line[match.end() :]
            if after != line:
                yield target.edit(path, number, after)
            break


def _has_threshold(line: str) -> bool:
    kinds = {token.partition(":")[0] for token in critical_tokens(line)}
    return any(char.isdigit() for char in line) and bool(kinds & {"cmp", "mod"})


def drop_threshold(target: MutationTarget) -> Iterator[MutationSite]:
    """Delete a line with a number and a comparison or a modal."""
    for path, number in target.prose:
        line = target.line(path, number)
        if len(line) > 15 and _has_threshold(MARK.sub("", line)):
            yield target.edit(path, number, None)


def change_number(target: MutationTarget) -> Iterator[MutationSite]:
    """Add one to a number."""
    yield from _edits(target, _NUMBER, lambda match: f"{int(match[1]) + 1}{match[2] or ''}")


def weaken_must(target: MutationTarget) -> Iterator[MutationSite]:
    """Replace must by should, always by usually, required by recommended."""
    yield from _edits(target, _STRONG, lambda match: _WEAK[match[1][0].lower()])


def drop_negation(target: MutationTarget) -> Iterator[MutationSite]:
    """Delete a "do not" or a "never"."""
    yield from _edits(target, _NEGATION, lambda _: "")


def swap_unit(target: MutationTarget) -> Iterator[MutationSite]:
    """Give a number another unit."""
    yield from _edits(target, _UNIT, lambda match: match[1] + _OTHER_UNIT[match[2]])


def flip_comparator(target: MutationTarget) -> Iterator[MutationSite]:
    """Reverse a comparison."""
    yield from _edits(target, _COMPARATOR, lambda match: _TURNED[match[0]])


def swap_numbers(target: MutationTarget) -> Iterator[MutationSite]:
    """Exchange two numbers of one line."""
    yield from _edits(target, _TWO_NUMBERS, lambda match: match[3] + match[2] + match[1])


def antonym(target: MutationTarget) -> Iterator[MutationSite]:
    """Replace a word by its opposite."""
    yield from _edits(target, _ANTONYM, _opposite)


def _opposite(match: re.Match[str]) -> str:
    word = _OPPOSITE[match[0].lower()]
    return word.upper() if match[0].isupper() else word.capitalize() if match[0].istitle() else word


def change_flag(target: MutationTarget) -> Iterator[MutationSite]:
    """Change a flag in a code block or code span."""
    for path, number in sorted({*target.listings, *target.prose}):
        line = target.line(path, number)
        if _FLAG.search(line):
            yield target.edit(path, number, _FLAG.sub(r"--\1-all", line, count=1))
