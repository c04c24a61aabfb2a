"""Critical tokens: words of a statement that determine what an agent must do.

Numbers with their units, comparators, modals and negations, code spans, paths and flags, in text order. As
a bag, "30 to 60" would equal "60 to 30".
"""

import re
from collections.abc import Callable, Iterable
from functools import lru_cache
from itertools import zip_longest

from skilljuror.base.skill import ChangeKind

_UNITS = (
    r"%|°[CF]?|ms|µs|us|ns|s|sec(?:ond)?s?|min(?:ute)?s?|h|hrs?|hours?|days?|weeks?|months?|years?"
    r"|[kKMGT]i?B|[kKMG]?bps|[kMGT]?Hz|dB(?:TP|FS)?|LUFS|mm|cm|km|m|nm|µm|um|in(?:ch(?:es)?)?|ft"
    r"|px|pt|pts|dpi|em|rem|kg|mg|g|lb|mol|[kM]?Pa|[kMG]?W|[kMG]?Wh|[kmM]?V|mA|A|[kMG]?J|K|MVA"
    r"|MVAr|pu|tokens?|lines?|rows?|columns?|chars?|characters?|words?|bytes?|points?|pixels?"
    r"|frames?|fps|items?|times|x"
)
_NUMBER = re.compile(
    rf"(?<![\w.])([-+−]?\d[\d,]*(?:\.\d+)*(?:[eE][-+]?\d+)?)(?:[ -]?({_UNITS})(?!\w))?"
)
_DIGIT = re.compile(r"\d")
_NUMBER_WORD = re.compile(
    r"\b(zero|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|dozen|hundred|thousand"
    r"|million|half|double|triple|once|twice)\b",
    re.IGNORECASE,
)
_UP = frozenset({
    ">", ">=", "≥", "at least", "no less than", "more than", "greater than", "larger than",
    "higher than", "longer than", "exceed", "exceeds", "above", "over", "minimum", "min",
    "or more", "after",
})  # fmt: skip
_DOWN = frozenset({
    "<", "<=", "≤", "at most", "no more than", "fewer than", "less than", "smaller than",
    "lower than", "shorter than", "below", "under", "within", "up to", "maximum", "max",
    "or less", "or fewer", "before", "until", "no later than",
})  # fmt: skip
_EQUAL = frozenset({"==", "!=", "≠", "≈", "±", "only", "exactly", "between"})
_NEGATIONS = frozenset({
    "must not", "should not", "shall not", "may not", "can not", "never", "do not", "does not",
    "need not", "needs not", "is not", "are not", "will not", "not", "no", "none", "without",
    "avoid", "forbidden", "prohibited", "~~",
})  # fmt: skip
_MODALS = frozenset({
    "must", "shall", "should", "may", "can", "could", "might", "always", "usually", "often",
    "prefer", "require", "required", "requires", "mandatory", "optional", "optionally",
    "recommended", "need to", "needs to", "have to", "has to", "unless", "except", "skip",
    "ignore", "allowed", "critical", "warning", "important", "ensure", "verify", "validate",
    "all", "any",
})  # fmt: skip
_STRAIGHT = str.maketrans(dict.fromkeys("‘’‛ʼ´＇", "'") | dict.fromkeys("“”„", '"'))
_CODE_SPAN = re.compile(r"(`[^`]*`)")
_CONTRACTION = re.compile(r"\b(?:([a-z]+)n't|cannot)\b", re.IGNORECASE)
_VERBS = {"'re": " are", "'ll": " will", "'ve": " have", "'m": " am"}
_SHORT_VERB = re.compile(r"(?<=[a-z])('re|'ll|'ve|'m)\b", re.IGNORECASE)
_STEMS = {"ca": "can", "wo": "will", "sha": "shall"}  # words that lose letters before "n't"
_TAG = re.compile(r"</?[A-Za-z][^<>]*>")
_CODE = re.compile(r"`([^`]+)`")
_STRUCK = re.compile(r"~~(?=\S)|(?<=\S)~~|</?(?:s|del|strike)>")
_PATH = re.compile(
    r"(https?://[^\s<>()\[\]\"'`|]*[^\s<>()\[\]\"'`|.,;:!?*_])"
    r"|(?<![\w/.~-])((?:[~/]|\.{1,2}/)?(?:[\w.-]+/)+[\w.-]*\w|[\w-]+\.(?:py|mjs|js|ts|sh|md|jsonl|json"
    r"|ya?ml|toml|csv|tsv|txt|xml|xsd|pdf|xlsx|docx|pptx|sql|html))\b"
)
_FLAG = re.compile(r"(?<!\S)`?(--?[A-Za-z][\w-]*)")


def _phrases(words: Iterable[str]) -> str:
    """A pattern for any of the phrases, longest first, branched by first letter for speed."""
    ordered = sorted(words, key=lambda word: (-len(word), word))
    return "|".join(
        f"{letter}(?:{'|'.join(_spaced(word[1:]) for word in ordered if word[0] == letter)})"
        for letter in sorted({word[0] for word in ordered})
    )


def _spaced(phrase: str) -> str:
    return re.escape(phrase).replace(r"\ ", r"\s+")


_COMPARATOR = re.compile(
    r"(?:(?<![-=<>])(?:<=|>=|>(?![>=])|<(?![\w/!=-]))|[≤≥≠≈±]|==|!=)"
    rf"|\b(?:{_phrases(frozenset(w for w in _UP | _DOWN | _EQUAL if w[0].isalpha()))})\b",
    re.IGNORECASE,
)
_MODAL = re.compile(rf"\b(?:{_phrases(_NEGATIONS | _MODALS)})\b", re.IGNORECASE)
_KINDS = (("cmp", _COMPARATOR), ("mod", _MODAL), ("code", _CODE), ("path", _PATH), ("flag", _FLAG))


@lru_cache(maxsize=1 << 16)
def critical_tokens(text: str) -> tuple[str, ...]:
    """Return the critical tokens of `text` in reading order, each as "kind:value".

    Kinds: `num` (value, then "|" and its unit), `cmp`, `mod`, `code`, `path`, `flag`. Words in capitals
    stay in capitals ("mod:MUST"), since Skills stress words so; a capital at the start of a sentence is
    folded. A path may be an address. A strike-through counts as a negation. Contractions are expanded: "don't" gives "mod:do not". (transforms §5.1)
    """
    text = written_out(straight_quotes(text))
    numbers = _NUMBER.finditer(text) if _DIGIT.search(text) else ()
    placed = [
        (
            match.start(),
            0,
            f"num:{match.group(1).rstrip(',').replace('−', '-')}|{match.group(2) or ''}",
        )
        for match in numbers
    ]
    placed += [
        (match.start(), 0, f"num:{match.group(1).lower()}|")
        for match in _NUMBER_WORD.finditer(text)
    ]
    if "~~" in text or "<" in text:
        shown = _CODE_SPAN.sub(lambda span: " " * len(span[0]), text)
        placed += [(match.start(), 0, "mod:~~") for match in _STRUCK.finditer(shown)]
    untagged = _TAG.sub(lambda tag: " " * len(tag[0]), text) if "<" in text else text
    for rank, (kind, pattern) in enumerate(_KINDS, 1):
        for match in pattern.finditer(untagged if kind == "cmp" else text):
            word = match.group(match.lastindex or 0)
            placed.append((match.start(), rank, f"{kind}:{_stress(word, kind)}"))
    return tuple(token for _, _, token in sorted(placed))


def straight_quotes(text: str) -> str:
    """Return the text with straight quotes and apostrophes outside of code spans."""
    return text if text.isascii() else _outside_code(text, lambda part: part.translate(_STRAIGHT))


def written_out(text: str) -> str:
    """Return the text with expanded contractions: "do not" for "don't", "can not" for "can't" and "cannot",
    "you are" for "you're"."""
    if "'" not in text and "annot" not in text.lower():
        return text
    return _outside_code(
        text, lambda part: _SHORT_VERB.sub(_verb, _CONTRACTION.sub(_two_words, part))
    )


def _verb(contraction: re.Match[str]) -> str:
    return _VERBS[contraction[0].lower()]


def _two_words(contraction: re.Match[str]) -> str:
    stem = (contraction[1] or "ca").lower()
    words = f"{_STEMS.get(stem, stem)} not"
    return words.upper() if contraction[0].isupper() else words


def _outside_code(text: str, change: Callable[[str], str]) -> str:
    parts = _CODE_SPAN.split(text)
    return "".join(part if number % 2 else change(part) for number, part in enumerate(parts))


def _stress(word: str, kind: str) -> str:
    if kind not in {"cmp", "mod"}:
        return word
    word = " ".join(word.split())
    return word if word.isupper() and len(word) > 1 else word.lower()


def critical_change(before: tuple[str, ...], after: tuple[str, ...]) -> ChangeKind | None:
    """Return the worst difference between two tuples of critical tokens; None if equal.

    Worst first: polarity, reversed comparator, comparator, number, unit, modal, reference (code span, path,
    flag), order. (transforms §5.2)
    """
    if before == after:
        return None
    if _negations(before) != _negations(after):
        return "polarity"
    turned, changed = _comparators(before, after)
    if turned or changed:
        return "comparator-flip" if turned else "comparator"
    return _lesser_change(before, after)


def _lesser_change(before: tuple[str, ...], after: tuple[str, ...]) -> ChangeKind:
    numbers, others = _of(before, "num"), _of(after, "num")
    if [n.partition("|")[0] for n in numbers] != [n.partition("|")[0] for n in others]:
        return "number"
    if numbers != others:
        return "unit"
    if _of(before, "mod") != _of(after, "mod"):
        return "modal"
    if sorted(before) != sorted(after):
        return "reference"
    return "order"


def _of(tokens: tuple[str, ...], kind: str) -> list[str]:
    return [token[len(kind) + 1 :] for token in tokens if token.startswith(f"{kind}:")]


def _negations(tokens: tuple[str, ...]) -> int:
    return sum(word.lower() in _NEGATIONS for word in _of(tokens, "mod"))


def _comparators(before: tuple[str, ...], after: tuple[str, ...]) -> tuple[bool, bool]:
    """(whether a comparator is reversed, whether comparators differ)."""
    old, new = _of(before, "cmp"), _of(after, "cmp")
    turns = [_direction(a) * _direction(b) for a, b in zip_longest(old, new, fillvalue="")]
    return len(old) == len(new) and min(turns, default=0) < 0, old != new


def _direction(word: str) -> int:
    word = word.lower()
    return (word in _UP) - (word in _DOWN)
