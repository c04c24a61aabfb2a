"""placebo-irrelevant: filler about an unrelated subject, as long as the baseline line by line."""

from collections.abc import Collection, Iterator, Sequence
from itertools import count
from typing import Any, ClassVar

from skilljuror.base.skill import Bundle, Copy, Generated, Omitted, Plan, PlannedFile, is_licence
from skilljuror.base.texts import weight
from skilljuror.layouts.disclosure import flat_skill


class IrrelevantPlacebo:
    """The baseline's frontmatter, so that it is offered and opened alike, over irrelevant text.

    The body has the same outline and length, and says nothing about any task.
    """

    variant: ClassVar[str] = "placebo-irrelevant"
    parent: ClassVar[str] = "baseline"
    stands_for: ClassVar[str] = "baseline"
    expected: ClassVar[tuple[str, ...]] = ("knowledge.*", "hygiene.empty-heading")

    def plan(self, parent: Bundle, params: dict[str, Any]) -> Plan:
        """Return the plan; data next to the page is dropped because it is informative, licences stay."""
        flat = flat_skill(parent, self.variant)
        flags = flat.texts.text(flat.path).flags
        skip = flat.markdown.frontmatter_lines
        body = list(flat.lines[skip:])
        headings = {heading.start - skip for heading in flat.markdown.headings}
        pieces: list[Copy | Generated] = [Copy(flat.path, 1, skip)]
        pieces += [Generated("filler", {"line": line}) for line in like(body, headings)]
        others = [path for path in parent.files if path != flat.path]
        return Plan(
            self.variant,
            self.parent,
            (PlannedFile(flat.path, tuple(pieces)),),
            sidecars={path: path for path in others if is_licence(path)},
            dropped={path: "not of the placebo" for path in others if not is_licence(path)},
            flags={flat.path: flags} if flags else {},
            omitted=tuple(
                Omitted(flat.path, number, line) for number, line in enumerate(body, skip + 1)
            ),
            notes=("a control: it omits all that its parent says",),
        )


SUBJECTS = (
    "the old lighthouse", "a narrow harbour wall", "the evening ferry", "a row of painted boats",
    "the tide mill", "a flock of waders", "the salt marsh", "a grey seal", "the village bell",
    "a line of beach huts", "the long sandbank",
)  # fmt: skip
VERBS = (
    "stands beside", "looks across", "belongs to", "was drawn near", "keeps its distance from",
    "has long been known along", "lies quietly below", "can be seen from", "took its name from",
    "drifts slowly past", "rests against", "casts a shadow over", "reminds visitors of",
)  # fmt: skip
PLACES = (
    "the northern bay", "a field of sea lavender", "the wooden pier", "the chalk cliffs",
    "the fishing quarter", "a row of lime trees", "the winter moorings", "the shingle beach",
    "the abandoned railway", "the river mouth", "a small museum of shells", "the western headland",
    "the market square", "the lower meadows", "the boathouse", "a garden of tamarisk",
    "the ferry steps",
)  # fmt: skip
ENDS = (
    "in the early light", "after the autumn storms", "at the turn of the season",
    "on quiet afternoons", "under a pale sky", "in the memory of the older families",
    "through most of the winter",
)  # fmt: skip
HERDS = ("gulls", "boats", "dunes", "reeds", "tides", "herons", "limpets")
REST = ("rest", "linger", "gather here", "stay apart", "return by evening")
RESTS = ("rests", "lingers", "waits here", "stands apart", "waits for evening")
LONG_SENTENCE = 13.0  # minimum remaining weight for a long sentence; the lightest weighs 12
SHORT_SENTENCE = 4.0  # minimum remaining weight for one more short sentence


_VOCABULARY = frozenset(
    word
    for part in (*SUBJECTS, *VERBS, *PLACES, *ENDS, *HERDS, *REST, *RESTS)
    for word in part.lower().split()
) | {"and", "near"}


def is_filler(line: str) -> bool:
    """Whether a line consists of the words of fillers: it tells nothing of a Skill."""
    words = line.lower().replace(".", " ").lstrip("#- ").split()
    return bool(words) and _VOCABULARY.issuperset(words)


def sentences() -> Iterator[str]:
    """Yield sentences; the first 17,017 are distinct."""
    for number in count():
        parts = (choices[number % len(choices)] for choices in (SUBJECTS, VERBS, PLACES, ENDS))
        yield _sentence(" ".join(parts))


def _short_sentences() -> Iterator[str]:
    for number in count():
        subject, verb, place = (
            choices[number % len(choices)] for choices in (SUBJECTS, VERBS, PLACES)
        )
        yield _sentence(f"{subject} {verb} {place}")
        yield _sentence(f"{subject} {RESTS[number % len(RESTS)]}")
        yield _sentence(f"{HERDS[number % len(HERDS)]} {REST[number % len(REST)]}")
        yield HERDS[number % len(HERDS)].capitalize()


def _titles() -> Iterator[str]:
    """Titles from long to short, over and over; each ends in a noun."""
    for number in count():
        bare = [name.partition(" ")[2] for name in SUBJECTS]
        one, other = bare[number % len(bare)], bare[(number + 4) % len(bare)]
        place = PLACES[number % len(PLACES)]
        yield f"{one} and {other} near {place}".capitalize()
        yield f"{one} near {place}".capitalize()
        yield f"{one} and {other}".capitalize()
        yield one.capitalize()
        yield place.partition(" ")[2].capitalize()
        yield HERDS[number % len(HERDS)].capitalize()


def _sentence(words: str) -> str:
    return f"{words[0].upper()}{words[1:]}."


_ROUND = 20  # short texts among which the best fit is chosen


class _Filler:
    def __init__(self) -> None:
        self.long, self.short, self.titles = sentences(), _short_sentences(), _titles()

    def title(self, room: float) -> str:
        return self._fitting(self.titles, room)

    def prose(self, room: float) -> str:
        """Return sentences of about the given total weight: long ones, then a short one."""
        chosen: list[str] = []
        while room >= LONG_SENTENCE:
            chosen.append(next(self.long))
            room -= weight(chosen[-1])
        if not chosen or room >= SHORT_SENTENCE:
            chosen.append(self._fitting(self.short, room))
        return " ".join(chosen)

    @staticmethod
    def _fitting(texts: Iterator[str], room: float) -> str:
        return min((next(texts) for _ in range(_ROUND)), key=lambda text: abs(weight(text) - room))


def like(lines: Sequence[str], headings: Collection[int]) -> list[str]:
    """Return as many lines, blank in the same places, with about as many estimated tokens in total.

    `headings` (0-based) become titles of the same level, other lines become whole sentences.
    """
    filler, owed, filled = _Filler(), 0.0, []
    for number, line in enumerate(lines):
        owed += weight(line)
        text = ""
        if line.strip():
            mark = _mark(line, number in headings)
            room = owed - weight(mark)
            text = mark + (filler.title(room) if number in headings else filler.prose(room))
            owed -= weight(text)
        filled.append(text)
    return filled


def _mark(line: str, heading: bool) -> str:
    """The mark that opens a heading or bullet, so that the page keeps its outline."""
    first = line.split(maxsplit=1)[0]
    if heading and set(first) == {"#"}:
        return f"{first} "
    return "- " if first in {"-", "*"} else ""
