"""Check a model's answers to rubric items: their form, and that their quotes are in the files."""

from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple

from pydantic import BaseModel, Field

from skilljuror.models.bundle import Bundle
from skilljuror.models.rubric import ItemAnswer, RubricItem, RubricQuote, UnknownReason

SHORTEST_QUOTE = 8  # characters; shorter quotes are in too many places
_MOST_EVIDENCE = 600


class GivenQuote(BaseModel):
    """A quote as a model gives it."""

    side: Literal["source", "candidate"]
    file: str
    text: str


class GivenVerdict(BaseModel):
    """An answer to one item as a model gives it."""

    item: str
    answer: ItemAnswer
    evidence: str = Field(min_length=1)
    quotes: list[GivenQuote] = Field(default_factory=list, max_length=20)


class GivenVerdicts(BaseModel):
    """What a model has to answer."""

    verdicts: list[GivenVerdict]


class CheckedAnswer(NamedTuple):
    """An answer after its quotes were looked up."""

    answer: ItemAnswer
    reason: UnknownReason | None
    evidence: str
    quotes: tuple[RubricQuote, ...]
    quotes_not_found: int


def answers_all(items: Sequence[RubricItem]) -> Callable[[GivenVerdicts], str | None]:
    """Return a check that verdicts answer each item once; it returns the problem or None."""
    asked = sorted(item.id for item in items)

    def problem(given: GivenVerdicts) -> str | None:
        answered = sorted(one.item for one in given.verdicts)
        if answered == asked:
            return None
        return f"it answers {', '.join(answered) or 'nothing'}, asked was {', '.join(asked)}"

    return problem


def checked(
    given: GivenVerdict, item: RubricItem, source: Bundle, candidate: Bundle
) -> CheckedAnswer:
    """Look up an answer's quotes; the answer is unknown without the quotes that it needs."""
    bundles = {"source": source, "candidate": candidate}
    found = [_look_up(quote, bundles[quote.side]) for quote in given.quotes]
    quotes = tuple(quote for quote in found if quote is not None)
    reason: UnknownReason | None = None
    if given.answer == "unknown":
        reason = "undecided"
    elif len(quotes) < len(found):
        reason = "quote_not_found"
    elif item.quote and not quotes:
        reason = "no_quote"
    evidence = " ".join(given.evidence.split())[:_MOST_EVIDENCE]
    answer = "unknown" if reason else given.answer
    return CheckedAnswer(answer, reason, evidence, quotes, len(found) - len(quotes))


def _look_up(given: GivenQuote, bundle: Bundle) -> RubricQuote | None:
    if len(given.text) < SHORTEST_QUOTE:
        return None
    line = line_of(given.text, given.file, bundle)
    if line is None:
        return None
    return RubricQuote(side=given.side, file=given.file, line=line, text=given.text)


def line_of(quote: str, file: str, bundle: Bundle) -> int | None:
    """Return the 1-based line at which a quote begins in a file; None if it is not there. White
    space is ignored."""
    blob = bundle.files.get(file)
    return line_in(quote, (blob.text if blob else None) or "")


def line_in(quote: str, text: str) -> int | None:
    """Return the 1-based line at which a quote begins in a text; None if it is not there."""
    wanted = " ".join(quote.split())
    if not wanted:
        return None
    words = [
        (word, number)
        for number, line in enumerate(text.split("\n"), start=1)
        for word in line.split()
    ]
    whole = " ".join(word for word, _ in words)
    at = whole.find(wanted)
    return None if at < 0 else words[whole.count(" ", 0, at)][1]
