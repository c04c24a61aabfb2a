"""Drift by few words or marks: a conjunction, a condition, a quantifier, an agent, a revoked duty."""

import re
from collections.abc import Callable, Iterator

from markdown_it import MarkdownIt

from skilljuror.audit.gates.mutations.sites import MARK, MutationSite, MutationTarget, outside_spans

_DUTY = re.compile(
    r"\b(?:must|shall|should|always|never|only|ensure|avoid|required?|do not|don['’]t|need to|make sure)\b",
    re.IGNORECASE,
)
"""What makes a line a duty here; the gates have words of their own."""
_CONJUNCTION = re.compile(r"(?<=[\w,)] )(and|or)(?= [\w(])(?! so on| more| not\b)")
_CONDITION = re.compile(
    r"(?<![^.!?:] )\b(?:If|When|Unless|For(?! example| instance| more)|Before|After|Once) [^,.;:()]{6,90}, (?:then )?(?=\w)"
    r"|,? \b(?:if|unless|only if|when|until|except(?: when| for)?) [^.,;:()]{6,90}(?=[.;]|$)"
)
_QUANTIFIER = re.compile(
    r"(?<!at )(?<!after )(?<!above )\b(all|every|each)\b(?= [a-z]{3})(?! other)"
)
_ROLE = re.compile(r"\b(the|your) (user|agent|human partner|assistant|model)(s?)(?![\w-]|'s? own)")
_OTHER_ROLE = {
    "user": "agent", "agent": "user", "human partner": "agent", "assistant": "user", "model": "user",
}  # fmt: skip
_REVOKED = (
    "The next paragraph is obsolete.",
    "What follows no longer applies.",
    "Treat the text below as outdated.",
    "The paragraph above is kept for historical reasons.",
    "This section has been superseded.",
    "The following instructions are deprecated.",
)
_LOOK_ALIKE = str.maketrans(
    "aeopcxAEOPCTHKMB",
    "\u0430\u0435\u043e\u0440\u0441\u0445\u0410\u0415\u041e\u0420\u0421\u0422\u041d\u041a\u041c\u0412",
)
_WORD = re.compile(r"[A-Za-z]{3,}")
_ADDRESS = re.compile(r"(https?://[\w.-]+/(?:[\w.~%-]+/)*)([\w.~%-]*\w)(/?)")
_TYPOGRAPHIC = re.compile(r"\b([A-Za-z]+)n’t\b(?= )")
_STEMS = {"ca": "can", "wo": "will", "sha": "shall"}

Substitute = Callable[[re.Match[str]], str | None]


def swap_conjunction(target: MutationTarget) -> Iterator[MutationSite]:
    """Exchange "and" and "or" in a duty."""
    other = {"and": "or", "or": "and"}
    yield from _edits(target, _CONJUNCTION, lambda match: other[match[1]], duty=True)


def drop_condition(target: MutationTarget) -> Iterator[MutationSite]:
    """Delete the condition of a sentence, at its beginning or end."""
    for path, number in target.prose:
        line = target.line(path, number)
        start = _start(line)
        for match in _CONDITION.finditer(line, start):
            split = match[0].count("**") % 2
            if split or _hidden(line, match) or len(_sentence_around(line, match).split()) < 3:
                continue
            rest = line[match.end() :]
            opens = match[0][:1].isupper()
            after = line[: match.start()] + (rest[:1].upper() + rest[1:] if opens else rest)
            yield target.edit(path, number, after)
            break


def _sentence_around(line: str, match: re.Match[str]) -> str:
    """What is left of the sentence of a condition."""
    before, after = line[_start(line) : match.start()], line[match.end() :]
    return f"{re.split(r'[.!?:] ', before)[-1]} {re.split(r'[.!?:](?: |$)', after)[0]}"


def weaken_quantifier(target: MutationTarget) -> Iterator[MutationSite]:
    """Replace all, every or each by some."""
    yield from _edits(target, _QUANTIFIER, lambda _: "some")


def swap_agent(target: MutationTarget) -> Iterator[MutationSite]:
    """Let the agent do or get what the user does or gets, or the reverse."""
    yield from _edits(target, _ROLE, lambda match: f"the {_OTHER_ROLE[match[2]]}{match[3]}")


def strike_out(target: MutationTarget) -> Iterator[MutationSite]:
    """Strike out a duty: two tildes around a line that a page shows struck out then."""
    for path, number in target.prose:
        line = target.line(path, number)
        start, text = _start(line), line.strip()
        if not _DUTY.search(line) or "~" in line or "|" in line or not text[-1:].strip("*_`"):
            continue
        after = f"{line[:start]}~~{line[start:].rstrip()}~~"
        if has_strike_through(after[start:]):
            yield target.edit(path, number, after)


def revoke(target: MutationTarget) -> Iterator[MutationSite]:
    """Add a line that says that text near it is obsolete."""
    for count, (path, number) in enumerate(target.blanks()):
        yield target.insert(path, number, _REVOKED[count % len(_REVOKED)])


def look_alike(target: MutationTarget) -> Iterator[MutationSite]:
    """Replace a letter of a word of a duty by a Cyrillic one that looks the same."""
    for count, (path, number) in enumerate(target.prose):
        line = target.line(path, number)
        duty = _DUTY.search(line, _start(line))
        words = [
            word
            for word in _WORD.finditer(line, _start(line))
            if not _hidden(line, word) and _with_look_alike(word[0]) != word[0]
        ]
        if duty and words:
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


def change_address(target: MutationTarget) -> Iterator[MutationSite]:
    """Change the last part of the path of an address."""
    for path, number in target.prose:
        line = target.line(path, number)
        match = _ADDRESS.search(line)
        if match:
            place = match.end(2)
            yield target.edit(path, number, f"{line[:place]}-next{line[place:]}")


def drop_typographic_negation(target: MutationTarget) -> Iterator[MutationSite]:
    """Turn "Don’t" into "Do" where the apostrophe is a typographic one."""
    yield from _edits(target, _TYPOGRAPHIC, lambda match: _STEMS.get(match[1].lower(), match[1]))


def _edits(
    target: MutationTarget, pattern: re.Pattern[str], change: Substitute, *, duty: bool = False
) -> Iterator[MutationSite]:
    """One site a line: the first match outside code, links and tags."""
    for path, number in target.prose:
        line = target.line(path, number)
        if duty and not _DUTY.search(line):
            continue
        shown = (one for one in pattern.finditer(line, _start(line)) if not _hidden(line, one))
        match = next(shown, None)
        if match is not None:
            after = f"{line[: match.start()]}{change(match)}{line[match.end() :]}"
            yield target.edit(path, number, after)


def _start(line: str) -> int:
    mark = MARK.match(line)
    return mark.end() if mark else 0


def _hidden(line: str, match: re.Match[str]) -> bool:
    return any(a < match.end() and match.start() < b for a, b in outside_spans(line))


_STRIKING = MarkdownIt("commonmark").enable("strikethrough")


def has_strike_through(source: str) -> bool:
    """Whether a page shows a part of an inline text struck out."""
    return "<s>" in _STRIKING.renderInline(source)
