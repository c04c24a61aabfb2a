"""Features by which a text can be recognised later: names, paths, flags, numbers, settings, headings, phrases, commands.

A feature is a string; its weight grows with the improbability of writing it without having seen the text.
Extraction is line by line and linear in the text.

    weight 3   enough alone: references/x.md, analyze_largest_component, 34648.04
    weight 2   needs a second sign: --dry-run, BASE_SHA, 4-digit numbers, "## When to Apply", a setting of two words
               with its value ("Cut-off: 3.5" equals cut_off = 3.5), a command whose flag or placeholder shows that it
               is one ("$ berth add")
    weight 1   a four-word phrase, a short code span, a hyphenated word, a command with a flag ("$ berth add -q")
"""

import re
from collections.abc import Callable, Container, Hashable, Iterable, Iterator, Sequence
from functools import lru_cache, wraps
from itertools import chain, pairwise
from typing import TypeVar

DECISIVE_WEIGHT = 3
"""Weight of a feature that proves a use without a second one."""
PHRASE_WORDS = 4
"""Words of a phrase."""
LONGEST_COMMAND = 60
"""Maximum words of a command to search."""
CACHED_LINES, CACHED_LINE_CHARS = 1 << 14, 300
"""Lines whose features are cached, each of at most so many characters: runs repeat them, and open the same resources."""
ENTRY_PREFIX, HEADING_PREFIX, COMMAND_PREFIX, FIELDS_PREFIX = "name:", "## ", "$ ", "together "
"""Prefixes of the features of an entry of a listing, a heading, a command, and fields that occur together."""

Found = TypeVar("Found")
WeightedFeature = tuple[str, int]
"""(feature, weight)."""


def cached_by_line(function: Callable[..., Iterable[Found]]) -> Callable[..., Iterable[Found]]:
    """Cache what a function finds on short lines."""

    cached = lru_cache(maxsize=CACHED_LINES)(lambda *given: tuple(function(*given)))

    @wraps(function)
    def found(line: str, *rest: Hashable) -> Iterable[Found]:
        return (cached if len(line) <= CACHED_LINE_CHARS else function)(line, *rest)

    return found


# Words.

_SPACELESS = "\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af"
_WORD = re.compile(rf"[{_SPACELESS}]|[^\W{_SPACELESS}]+")
_ASCII_WORD = re.compile(r"\w+", re.ASCII)
STOP_WORDS = frozenset(
    """
    a about after again all also an and any are as at be because been before being both but by can could did do does
    doing done down each else every few first for from get had has have he here how i if in into is it its just last
    let like line lines make may me might more most must my need new next no not now of off on once one only or other
    our out over own per please same see set she should so some such than that the their them then there these they
    this those through to too two under until up us use used using very via was we were what when where which while
    who why will with within without would yes yet you your
    """.split()  # noqa: SIM905
)
"""Words without a meaning of their own."""


def tokenize(line: str) -> list[str]:
    """Return the lower-case words of a line; in scripts without spaces every character is one."""
    return (_ASCII_WORD if line.isascii() else _WORD).findall(line.lower())


def content_words(words: Iterable[str]) -> int:
    """Return the number of content words."""
    return sum(
        (len(word) > 2 or not word.isascii()) and word not in STOP_WORDS and not word.isdigit()
        for word in words
    )


# Settings: names with values, in one spelling; the heads of a table name the values of its rows.

_MARK = r"[\"'`*]{0,3}"
_NAME = r"[A-Za-z][\w-]*+(?: \w[\w-]*+){0,6}"
_SETTING = re.compile(
    rf"(?:(?<![\w-])({_NAME})(?: \([^()\n]{{0,30}}\))?{_MARK}(?:: ?[A-Za-z]\w{{0,20}} ?(?==))? ?(?::=|[:=|]| is\b){_MARK}"
    rf"|(?<!\S)--([A-Za-z][\w-]*+)(?:=|(?= ))) ?{_MARK}(-?\d+(?:\.\d+)?|[A-Za-z][\w-]*)(?![\w(.])"
)
_SEPARATOR = re.compile(r"[:=|]| is\b|--")
_NAME_HUMP = re.compile(r"([a-z0-9])([A-Z])")
_ARTICLES = frozenset({"a", "an", "the"})
_QUALIFIERS = frozenset({"for", "in", "at", "per", "by", "on", "when", "if", "with", "from"})
_RULER = re.compile(r"\|?(?:\s*+:?-{2,}+:?\s*+(?:\||$))+$")
_CELL = re.compile(r"-?\d+(?:\.\d+)?(?![\w.])|[A-Za-z][\w-]*$")


@cached_by_line
def settings(line: str) -> Iterator[WeightedFeature]:
    """Yield every name with its value on a line; a qualified name also by its head.

    Weight 2; 1 for a name of one word, which needs a number for its value. "Limit of the page, for drafts" is a
    page limit and a limit: the last two words of the name, and of its head.
    """
    for match in _SETTING.finditer(line):
        value = match.group(3).lower()
        number = not value[0].isalpha()
        if not number and not content_words([value]):
            continue
        plain = f"{float(value):g}" if number else value
        key = _NAME_HUMP.sub(r"\1 \2", match.group(1) or match.group(2)).lower().strip("_-")
        words = [word for word in re.split(r"[ _-]+", key) if word and word not in _ARTICLES]
        words, _ = _split_at(words, _QUALIFIERS)
        head, tail = _split_at(words, frozenset({"of"}))
        for name in ((tail + head)[-2:], head[-2:]) if tail else (head[-2:],):
            weight = 2 if sum(not word.isdigit() for word in name) > 1 else int(number)
            if weight and content_words(name):
                yield f"{' '.join(name)}={plain}", weight


def _split_at(words: list[str], marks: frozenset[str]) -> tuple[list[str], list[str]]:
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
        if "|" not in line:
            heads = row_before = []
            yield line, ()
            continue
        cells = [cell.strip(" \t`*\"'") for cell in line.strip().strip("|").split("|")]
        if _RULER.match(line.strip()):
            heads, cells = row_before, []
        row_before = cells
        values = ((head, _CELL.match(cell)) for head, cell in zip(heads, cells, strict=False))
        yield line, tuple(f"{head}: {value.group()}" for head, value in values if head and value)


def value_of(setting: str) -> str:
    """Return the search key of a setting's value: a number without its sign, or its first word."""
    value = setting.rpartition("=")[2]
    return value.lstrip("-") if value.lstrip("-")[:1].isdigit() else tokenize(value)[0]


def is_setting(feature: str) -> bool:
    """Whether a feature is a name of two words with its value."""
    name, equals, _ = feature.rpartition("=")
    return bool(equals) and " " in name


# Commands, whatever their values: a program with its subcommand, and with each of its flags.

_PROGRAM = re.compile(r"(?:[\w.~$-]*/)*([a-z][a-z0-9_-]{1,40}(?:\.(?:sh|py|js|ts|rb|pl))?)")
_SUBCOMMAND = re.compile(r"[a-z][a-z0-9]+(?:[-:][a-z0-9]+)*")
_FLAG = re.compile(r"--[A-Za-z][\w-]*|-[A-Za-z]\b")
_PLACE = re.compile(r".{0,40}<[\w .-]+>.*|\$[A-Z{].*|\{[a-z_]+\}")
_END = re.compile(r"&&|\|\||[;|]")
_AROUND = "`'\"()[]{},:."


def commands(code: str, common: Container[str]) -> Iterator[WeightedFeature]:
    """Yield features of the commands in a piece of code, but for common programs ("$ git")."""
    for part in _END.split(code):
        words = part.split()[:LONGEST_COMMAND]
        while words and (words[0] == "$" or "=" in words[0]):  # a prompt, or a variable
            words = words[1:]
        name, subcommand, rest = _command(words)
        if not name or " ".join(name.split()[:2]) in common:
            continue
        flags = dict.fromkeys(_flags(name, rest))
        if subcommand and (flags or any(map(_PLACE.fullmatch, rest))):
            yield name, 2
        yield from ((flag, 1) for flag in flags)


def commands_on(line: str, known: Container[str], programs: Container[str]) -> Iterator[str]:
    """Yield the known features in a line of any text, at any start of a command."""
    words = line.split()
    for i, word in enumerate(words):
        program = _program(word)
        if program not in programs:
            continue
        name, subcommand, rest = _command(words[i : i + LONGEST_COMMAND])
        short = COMMAND_PREFIX + program
        for each in ((name, short) if subcommand else (short,)) if name else ():
            yield from (feature for feature in (each, *_flags(each, rest)) if feature in known)


def _program(word: str) -> str:
    match = _PROGRAM.fullmatch(word.strip(_AROUND))
    return match.group(1) if match else ""


def _flags(name: str, words: Iterable[str]) -> Iterator[str]:
    matches = (_FLAG.match(word.strip(_AROUND)) for word in words)
    return (f"{name} {match.group()}" for match in matches if match)


def _command(words: list[str]) -> tuple[str, str, list[str]]:
    """(feature of the program with its subcommand, subcommand, later words) of the command that begins with the
    first word, up to the next one; ("", "", []) if it is none."""
    program = _program(words[0]) if words else ""
    if not program or program in STOP_WORDS:
        return "", "", []
    rest: list[str] = []
    for word in words[1:]:
        if _END.search(word) and "<" not in word:
            rest.append(_END.split(word)[0])
            break
        rest.append(word)
    subcommand = rest[0].strip(_AROUND) if rest else ""
    if _SUBCOMMAND.fullmatch(subcommand):
        return f"{COMMAND_PREFIX}{program} {subcommand}", subcommand, rest[1:]
    return COMMAND_PREFIX + program, "", rest


# Everything of a line.

_MAX_TOKEN = 200
_TRAILING = ".:/+-\\@%"
_TOKEN = re.compile(r"-{0,2}[A-Za-z0-9_~./$@\\][A-Za-z0-9_./:@%+~$\\-]*")
_UNIT = r"(?:%|[kKMG]?[bB]|[kmcn]?m|px|ms|kg|s|x)"
_NUMBER = re.compile(rf"(?<![\w.])(\d+(?:,\d{{3}})*(?:\.\d+)?(?:[eE][+-]?\d+)?){_UNIT}?(?![\w])")
_DIGIT = re.compile(r"\d")
_PLAIN_NUMBER = re.compile(r"\d+(?:\.\d+)?")
_SPAN = re.compile(r"`([^`\n]{1,80})`")
_CAMEL = re.compile(r"[a-z0-9][A-Z]|[A-Z]{2}[a-z]")
_EXTENSION = re.compile(r"[A-Za-z0-9_)-]\.[A-Za-z][A-Za-z0-9]{0,5}$")
_DIGEST = re.compile(r"[0-9a-f]{7,64}|[0-9A-F]{7,64}")
_INDENTED = re.compile(r"(?: {4}|\t)\s*[a-z]")
_HUMP = re.compile(r"([a-z])([A-Z])")
_LETTERS = re.compile(r"[a-z]{4,}")
_COMPANY_CHARS = 300
_HEADING = re.compile(r"\s*+(?:[+>*]\s*+)?#{1,6}\s+\S")


@cached_by_line
def features_of(line: str, code: bool, common: frozenset[str]) -> Iterator[WeightedFeature]:
    """Yield (feature, weight) of everything by which a line can be recognised later.

    In `code`, a short line is a phrase as well; `common` are common tokens, in lower case, and values.
    """
    words = tokenize(line)
    meaningful = _meaningful(words, common_word_pairs(common))
    for i in range(len(words) - PHRASE_WORDS + 1):
        if sum(meaningful[i : i + PHRASE_WORDS]) >= PHRASE_WORDS - 1:
            yield " ".join(words[i : i + PHRASE_WORDS]), 1
    spans = [tokenize(span) for span in _SPAN.findall(line) if " " in span.strip()]
    for short in (*spans, *([words] if code else ())):
        enough = len(short) in {2, 3}
        if enough and sum(_meaningful(short, common_word_pairs(common))) >= len(short) - 1:
            yield " ".join(short), len(short) - 1
    title = heading(line, words)
    if title and title not in common:
        yield title, min(len(words), 2)
    yield from settings(line)
    yield from names_and_numbers(line, common)
    yield from _named_numbers(line, common)
    for piece in (line,) if code or _INDENTED.match(line) else _SPAN.findall(line):
        yield from commands(piece, common)


def _meaningful(words: list[str], common_pairs: frozenset[str]) -> list[bool]:
    """For each word, whether it is a content word outside common pairs."""
    meaningful = [content_words([word]) == 1 for word in words]
    for i in range(len(words) - 1):
        if f"{words[i]} {words[i + 1]}" in common_pairs:
            meaningful[i] = meaningful[i + 1] = False
    return meaningful


@lru_cache(maxsize=8)
def common_word_pairs(common: frozenset[str]) -> frozenset[str]:
    """Return pairs of successive words in common tokens: "show current" of --show-current."""
    tokens = (tokenize(token) for token in common)
    return frozenset(f"{a} {b}" for words in tokens for a, b in pairwise(words))


def heading(line: str, words: list[str]) -> str | None:
    """Return the feature of a heading; None for other lines."""
    return HEADING_PREFIX + " ".join(words) if words and _HEADING.match(line) else None


def names_and_numbers(line: str, common: frozenset[str] = frozenset()) -> Iterator[WeightedFeature]:
    """Yield names, paths, flags and numbers of a line that are not common."""
    for token in tokens_of(line):
        yield from _name_features(token, common)
    for number in numbers(line):
        if normalised_value(number) not in common:
            yield from number_features(number)


def _named_numbers(line: str, common: frozenset[str]) -> Iterator[WeightedFeature]:
    """Four-digit numbers with a word of the line: "ramp of 137.5" and MAX_RAMP = 137.5."""
    telling = {
        feature
        for number in numbers(line)
        if normalised_value(number) not in common
        for feature, weight in number_features(number)
        if weight > 1
    }
    words = company(line) if telling else ()
    yield from ((f"{number} {word}", 1) for number in sorted(telling) for word in words)


def company(line: str) -> list[str]:
    """Return the words of a line, and of names in it, without a plural's ending."""
    apart = _HUMP.sub(r"\1 \2", line[:_COMPANY_CHARS]).lower()
    words = dict.fromkeys(word.removesuffix("s") for word in _LETTERS.findall(apart))
    return [word for word in words if word not in STOP_WORDS]


def tokens_of(line: str) -> list[str]:
    """Return the tokens of a line as written, each a word, path, flag or number."""
    return _TOKEN.findall(line)


def _name_features(token: str, common: frozenset[str]) -> Iterator[WeightedFeature]:
    name = token.rstrip(_TRAILING)
    first, dot, _ = name.lower().partition(".")
    is_common = name.lower() in common or (bool(dot) and first + dot in common)
    if 2 < len(name) <= _MAX_TOKEN and not is_common:
        yield from _cached_token_features(name, common)


@lru_cache(maxsize=1 << 16)
def _cached_token_features(token: str, common: frozenset[str]) -> tuple[WeightedFeature, ...]:
    """The features of one token; cached, because texts repeat tokens. Of a path the last two and three components,
    so that absolute and relative paths match."""
    if token.startswith("--"):
        return ((token, 2 if len(token) > 6 else 1),)
    parts = _components(token)
    features = []
    tail = parts[-2:]
    plain = "/".join(tail).lower() in common or all(part.lower() in common for part in tail)
    if len(parts) > 1 and not plain:
        named = bool(_EXTENSION.search(tail[-1])) or any(map(name_weight, tail))
        features.append(("/".join(tail), 3 if named else 1))
        if len(parts) > 2:
            features.append(("/".join(parts[-3:]), 2))
    for name in dict.fromkeys(part for part in tail if part.lower() not in common):
        if weight := name_weight(name):
            features.append((name, weight))
    return tuple(features)


def _components(path: str) -> list[str]:
    return [part for part in path.split("/") if part not in {"", ".", "..", "~"}]


def name_weight(name: str) -> int:
    """Return the weight of a name without slashes; 0 for a plain word or a number."""
    if not any(char.isalpha() for char in name) or len(name) < 4:
        return 0
    long = len(name) >= 12
    if "_" in name.strip("_") or _CAMEL.search(name) or _EXTENSION.search(name):
        return 3 if long else 2
    hyphens = name.strip("-").count("-")
    if hyphens:
        return 2 if hyphens > 1 and long else 1
    digits = sum(char.isdigit() for char in name)
    if _DIGEST.fullmatch(name) and 2 <= digits <= len(name) - 2:
        return 3 if long else 2
    return 2 if digits and len(name) >= 8 else 0


def numbers(line: str) -> list[str]:
    """Return the numbers of a line as written, without units."""
    return _NUMBER.findall(line)


def normalised_value(written: str) -> str:
    """Return a value without thousands separators and trailing zeros: "1,200.50" is 1200.5."""
    plain = written.replace(",", "")
    return f"{float(plain):g}" if _PLAIN_NUMBER.fullmatch(plain) else written


@lru_cache(maxsize=1 << 14)
def number_features(text: str) -> tuple[WeightedFeature, ...]:
    """Return a number at four and at six significant digits, so that rounded values match."""
    digits = text.replace(",", "").lower().partition("e")[0].replace(".", "").strip("0")
    value = float(text.replace(",", ""))
    if len(digits) < 4:
        telling = len(digits) == 3 or ("." in text and len(digits) == 2)
        return ((f"#{value:g}", 1),) if telling else ()
    year = len(text) == 4 and text[:2] in {"19", "20"}
    rounded = (f"#{value:.4g}", 1 if year else 2)
    return (rounded, (f"#{value:.6g}", 1)) if len(digits) > 5 else (rounded,)


def is_number(feature: str) -> bool:
    """Whether a feature is a number."""
    return feature.startswith("#") and not is_heading(feature)


def is_heading(feature: str) -> bool:
    """Whether a feature is a heading."""
    return feature.startswith(HEADING_PREFIX)


def entry_feature(line: str) -> str | None:
    """Return the feature of the entry on a line of a listing."""
    entry = line.strip().rstrip("/*@|").rpartition(" ")[2]
    name = entry.rpartition("/")[2]
    if len(name) > 2 and any(char.isalpha() for char in name):
        return ENTRY_PREFIX + name
    return None


def entry_features(token: str) -> Iterator[str]:
    """Features of the entries that a token names: parts of a path, and a name with an extension."""
    path = token.rstrip(_TRAILING)
    if "/" in path or _EXTENSION.search(path):
        yield from (ENTRY_PREFIX + part for part in path.split("/") if part)


def path_features(line: str) -> Iterator[str]:
    """Yield the features of the paths on a line."""
    entries = chain.from_iterable(map(entry_features, tokens_of(line)))
    names = {name.removeprefix(ENTRY_PREFIX) for name in entries}
    for feature, _ in names_and_numbers(line):
        if feature.rpartition("/")[2] in names and ("/" in feature or "." in feature):
            yield feature


def position_of(line: str, feature: str) -> int:
    """Return the 0-based column of a feature on a line; 0 where it cannot be found."""
    if is_number(feature):
        feature = feature.split()[0]
        matches = _NUMBER.finditer(line)
        return next((m.start() for m in matches if feature in dict(number_features(m.group(1)))), 0)
    if feature.startswith(FIELDS_PREFIX):
        pattern = feature.split()[1].replace("_", "[_-]")
    else:
        words = tokenize(feature.removeprefix(ENTRY_PREFIX))
        pattern = r"[\W_]{1,9}".join(map(re.escape, words))
    match = re.search(pattern, line, re.IGNORECASE)
    return match.start() if match else 0


class FeatureIndex:
    """Collects the features of sources, then finds them in any text in one pass.

    A source is any hashable key. `common` are common tokens, in lower case, and values; they are no features.
    """

    def __init__(self, common: frozenset[str]) -> None:
        self.weights: dict[str, int] = {}
        """Feature -> the highest weight that a source gave it."""
        self._common = common
        self._skipped = common
        """Tokens to skip in a search."""
        self._quotes: dict[tuple[Hashable, str], str] = {}
        """(source, feature) -> the first line of the source with it."""
        self._vocabulary: set[str] = set()
        """First words of all features: a line without any of them has only numbers."""
        self._phrases: dict[tuple[str, str], list[str]] = {}
        """First two words of phrases -> these, each between spaces."""
        self._names: set[str | tuple[str, str]] = set()
        """First two words of the names, or the only one, with -- of a flag: a line without any has no name."""
        self._programs: set[str] = set()
        """Programs of the commands."""
        self._program_words: set[str] = set()
        """First words of these."""
        self._has_numbers = False
        self._setting_values: set[str] = set()
        """Values of the settings: a number in one spelling, or the first word."""
        self._setting_words: set[str] = set()
        """The longest word of each name."""
        self._plain: set[str] = set()
        """Tokens without any feature; texts repeat their tokens."""
        self._line_hits: dict[str, tuple[str, ...]] = {}
        """Line -> the features on it; texts of a run repeat their lines."""

    def add_source(self, source: Hashable, lines: Sequence[str], *, listing: bool) -> None:
        """Add the features of a source's lines; those of a listing are the names of its entries."""
        fenced = False
        for line, cells in with_table_settings(lines):
            if line.lstrip().startswith("```"):
                fenced = not fenced
            if listing:
                entry = entry_feature(line)
                features: Iterable[WeightedFeature] = [(entry, DECISIVE_WEIGHT)] if entry else []
            else:
                features = chain(
                    features_of(line, fenced, self._common),
                    chain.from_iterable(map(settings, cells)),
                )
            for feature, weight in features:
                if feature not in self.weights:
                    self._index(feature)
                self.weights[feature] = max(weight, self.weights.get(feature, 0))
                self._quotes.setdefault((source, feature), line)

    def add_decisive(self, source: Hashable, features: Iterable[tuple[str, str]]) -> None:
        """Add (feature, line) pairs of decisive weight that are searched for elsewhere."""
        for feature, line in features:
            self.weights[feature] = DECISIVE_WEIGHT
            self._quotes.setdefault((source, feature), line)

    def add_names(self, features: Sequence[str]) -> None:
        """Add names without a source, common or not; they have no weight."""
        self._skipped = self._common.difference(feature.lower() for feature in features)
        for feature in features:
            self.weights.setdefault(feature, 0)
            self._index(feature)

    def _index(self, feature: str) -> None:
        self._plain.clear()
        self._line_hits.clear()
        if feature.startswith("#"):
            self._has_numbers |= is_number(feature)
            return
        if feature.startswith(COMMAND_PREFIX):
            program = feature.split()[1]
            self._programs.add(program)
            self._program_words.update(tokenize(program)[:1])
            self._vocabulary.update(tokenize(program)[:1])
            return
        words = tokenize(feature.removeprefix(ENTRY_PREFIX))
        self._vocabulary.update(words[:1])
        if "=" in feature and not feature.startswith(ENTRY_PREFIX):
            self._setting_values.add(value_of(feature))
            self._setting_words.add(max(feature.rpartition("=")[0].split(), key=len))
        elif " " in feature:
            self._phrases.setdefault((words[0], words[1]), []).append(f" {feature} ")
        elif len(words) > 1:
            self._names.add((words[0], words[1]))
        else:
            self._names.update(["--" * feature.startswith("--") + word for word in words] or [""])

    def quote(self, source: Hashable, feature: str) -> str:
        """Return the first line of a source with a feature; "" if there is none."""
        return self._quotes.get((source, feature), "")

    def offers(self, source: Hashable, feature: str) -> bool:
        """Whether a source's own text has a feature."""
        return (source, feature) in self._quotes

    def find(self, lines: Iterable[str]) -> dict[str, str]:
        """Return every indexed feature in a text, with its first line."""
        hits: dict[str, str] = {}
        for line, cells in with_table_settings(lines):
            if (found := self._line_hits.get(line)) is None:
                found = self._line_hits[line] = tuple(self._on(line))
            for feature in found:
                hits.setdefault(feature, line)
            for feature, _ in chain.from_iterable(map(settings, cells)):
                if feature in self.weights:
                    hits.setdefault(feature, line)
        return hits

    def find_entries(self, lines: Iterable[str]) -> dict[str, str]:
        """Return every entry of a listing, indexed or not, with its line."""
        entries = ((entry_feature(line), line) for line in lines)
        return {entry: line for entry, line in entries if entry}

    def _on(self, line: str) -> Iterator[str]:
        """Yield the features on a line. Each test before a search is a condition that it needs, and far cheaper."""
        words = tokenize(line)
        if "#" in line and (title := heading(line, words)) in self.weights:
            yield title
        if pairs := self._phrases.keys() & pairwise(words):
            text = f" {' '.join(words)} "
            yield from (each[1:-1] for key in pairs for each in self._phrases[key] if each in text)
        if not self._vocabulary.isdisjoint(words) and self._may_name(line, words):
            for token in (each for each in tokens_of(line) if each not in self._plain):
                yield from self._in_token(token)
        if not self._program_words.isdisjoint(words):
            yield from commands_on(line, self.weights, self._programs)
        has_value = not self._setting_values.isdisjoint(words)
        if (self._has_numbers or self._setting_values) and _DIGIT.search(line):
            written = numbers(line)
            features = chain.from_iterable(map(number_features, written))
            known = [name for name, _ in features if name in self.weights]
            yield from known
            named = (f"{name} {word}" for name in known for word in company(line))
            yield from (name for name in named if name in self.weights)
            values = (f"{float(number.replace(',', '')):g}" for number in written)
            has_value = has_value or not self._setting_values.isdisjoint(values)
        if has_value and _SEPARATOR.search(line) and self._may_set(line):
            yield from (setting for setting, _ in settings(line) if setting in self.weights)

    def _may_name(self, line: str, words: Sequence[str]) -> bool:
        """Whether a line has the first words of a name. Names are ASCII, and may touch other letters."""
        if not line.isascii():
            words = [word.lower() for word in _ASCII_WORD.findall(line)]
        if "--" in line:
            words = [*words, *(f"--{word}" for word in words)]
        names = self._names
        return not (names.isdisjoint(words) and names.isdisjoint(pairwise(words))) or "" in names

    def _may_set(self, line: str) -> bool:
        """Whether a line has a word of the name of a setting, as `settings` divides names."""
        words = tokenize(_NAME_HUMP.sub(r"\1 \2", line).replace("_", " "))
        return "--" in line or not line.isascii() or not self._setting_words.isdisjoint(words)

    def _in_token(self, token: str) -> list[str]:
        words = tokenize(token)
        known = not self._vocabulary.isdisjoint(words) and self._may_name(token, words)
        names = dict(_name_features(token, self._skipped)) if known else {}
        entries = entry_features(token) if known else ()
        hits = [feature for feature in (*names, *entries) if feature in self.weights]
        if not hits:
            self._plain.add(token)
        return hits
