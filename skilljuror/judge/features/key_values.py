"""Settings, that is names with values, in one spelling: "Cut-off: 3.5" equals cut_off = 3.5.

Column heads name the values of a table: a row below `| Tier | Burn window |` includes "Burn window: 12".
Everything is linear in the text.
"""

import re
from collections.abc import Iterable, Iterator

from skilljuror.judge.features.tokenisation import WeightedFeature, content_words, tokenize

_MARK = r"[\"'`*]{0,3}"
_NAME = r"[A-Za-z][\w-]*+(?: \w[\w-]*+){0,6}"
_ASIDE = r"(?: \([^()\n]{0,30}\))?"
_KIND = r"(?:: ?[A-Za-z]\w{0,20} ?(?==))?"
_SETTING = re.compile(
    rf"(?:(?<![\w-])({_NAME}){_ASIDE}{_MARK}{_KIND} ?(?::=|[:=|]| is){_MARK}"
    rf"|(?<!\S)--([A-Za-z][\w-]*)=?) ?{_MARK}(-?\d+(?:\.\d+)?|[A-Za-z][\w-]*)(?![\w(.])"
)
_HUMP = re.compile(r"([a-z0-9])([A-Z])")
_ARTICLES = frozenset({"a", "an", "the"})
_QUALIFIERS = frozenset({"for", "in", "at", "per", "by", "on", "when", "if", "with", "from"})
_RULER = re.compile(r"\|?(?:\s*+:?-{2,}+:?\s*+(?:\||$))+$")
_CELL = re.compile(r"-?\d+(?:\.\d+)?(?![\w.])|[A-Za-z][\w-]*$")


def settings(line: str) -> Iterator[WeightedFeature]:
    """Yield every name with its value on a line; a qualified name also by its head.

    Weight 2; 1 for a name of one word, which needs a number for its value.
    """
    for match in _SETTING.finditer(line):
        value = match.group(3).lower()
        number = not value[0].isalpha()
        if not number and not content_words([value]):
            continue
        plain = f"{float(value):g}" if number else value
        for name in _setting_names(match.group(1) or match.group(2)):
            weight = 2 if sum(not word.isdigit() for word in name) > 1 else int(number)
            if weight and content_words(name):
                yield f"{' '.join(name)}={plain}", weight


def _setting_names(key: str) -> Iterator[list[str]]:
    """The last two words of a name, and of its head: "limit of the page, for drafts" is a page limit and a
    limit."""
    spaced = _HUMP.sub(r"\1 \2", key).lower().strip("_-")
    words = [word for word in re.split(r"[ _-]+", spaced) if word and word not in _ARTICLES]
    words, _ = _split(words, _QUALIFIERS)
    head, tail = _split(words, frozenset({"of"}))
    yield (tail + head)[-2:]
    if tail:
        yield head[-2:]


def _split(words: list[str], marks: frozenset[str]) -> tuple[list[str], list[str]]:
    """The words before and after the first mark between words."""
    for i in range(1, len(words) - 1):
        if words[i] in marks:
            return words[:i], words[i + 1 :]
    return words, []


def with_table_settings(lines: Iterable[str]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield every line with the settings of its cells by the table's heads ("Burn window: 12")."""
    heads: list[str] = []
    row_before: list[str] = []
    for line in lines:
        cells = _cells(line) if "|" in line else []
        if cells and _RULER.match(line.strip()):
            heads, cells = row_before, []
        elif not cells:
            heads = []
        row_before = cells
        yield line, tuple(_labelled_cells(heads, cells)) if heads and cells else ()


def _cells(line: str) -> list[str]:
    return [cell.strip(" \t`*\"'") for cell in line.strip().strip("|").split("|")]


def _labelled_cells(heads: list[str], cells: list[str]) -> Iterator[str]:
    for head, cell in zip(heads, cells, strict=False):
        value = _CELL.match(cell)
        if head and value:
            yield f"{head}: {value.group()}"


def value_of(setting: str) -> str:
    """Return the search key of a setting's value: a number without its sign, or its first word."""
    value = setting.rpartition("=")[2]
    return value.lstrip("-") if value.lstrip("-")[:1].isdigit() else tokenize(value)[0]


def is_setting(feature: str) -> bool:
    """Whether a feature is a name of two words with its value."""
    name, equals, _ = feature.rpartition("=")
    return bool(equals) and " " in name
