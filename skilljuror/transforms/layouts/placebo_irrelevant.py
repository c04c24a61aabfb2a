"""Words about nothing that a task needs: they fill a page line for line, to a given length."""

from collections.abc import Collection, Iterator, Sequence
from typing import Any, ClassVar

from skilljuror.models.bundle import Bundle
from skilljuror.models.plan import Copy, Generated, Omitted, Plan, PlannedFile
from skilljuror.tokens import estimate, scaled, weight
from skilljuror.transforms.layouts.progressive_disclosure import flat_skill


class IrrelevantPlacebo:
    """The frontmatter of the baseline, so that it is offered and opened alike, over a body of the
    same outline and length that says nothing about any task."""

    variant: ClassVar[str] = "placebo-irrelevant"
    parent: ClassVar[str] = "baseline"
    stands_for: ClassVar[str] = "baseline"
    expected: ClassVar[tuple[str, ...]] = ("knowledge.*", "hygiene.empty-heading")

    def plan(self, parent: Bundle, params: dict[str, Any]) -> Plan:
        """The plan; data beside the page is left out, for a task may need it."""
        flat, parent_texts = flat_skill(parent, self.variant)
        flags = parent_texts.text(flat.path).flags
        skip = flat.markdown.frontmatter_lines
        body = list(flat.lines[skip:])
        headings = {heading.start - skip for heading in flat.markdown.headings}
        pieces: list[Copy | Generated] = [Copy(flat.path, 1, skip)]
        pieces += [Generated("filler", {"line": line}) for line in like(body, headings)]
        return Plan(
            self.variant,
            self.parent,
            (PlannedFile(flat.path, tuple(pieces)),),
            dropped={path: "not of the placebo" for path in parent.files if path != flat.path},
            flags={flat.path: flags} if flags else {},
            omitted=tuple(
                Omitted(flat.path, number, line) for number, line in enumerate(body, skip + 1)
            ),
            notes=("a control: it says nothing of what its parent says",),
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


def sentences() -> Iterator[str]:
    """One sentence after another; none comes twice among the first 17,017."""
    number = 0
    while True:
        parts = (choices[number % len(choices)] for choices in (SUBJECTS, VERBS, PLACES, ENDS))
        sentence = " ".join(parts)
        yield f"{sentence[0].upper()}{sentence[1:]}."
        number += 1


def words() -> Iterator[str]:
    """The words of the sentences, in order."""
    for sentence in sentences():
        yield from sentence.split()


def like(lines: Sequence[str], headings: Collection[int]) -> list[str]:
    """As many lines, blank where these are, with about as many estimated tokens in all; `headings`
    (0-based) keep their level."""
    filler, needed, tokens = words(), 0, 0
    filled = []
    for number, line in enumerate(lines):
        text = ""
        needed += estimate(line)
        if line.strip():
            mark = _mark(line, number in headings)
            text = f"{mark}{next(filler)}"
            heavy = weight(text)
            while tokens + scaled(heavy) < needed:
                word = next(filler)
                text, heavy = f"{text} {word}", heavy + weight(word)
            tokens += scaled(heavy)
        filled.append(text)
    return filled


def _mark(line: str, heading: bool) -> str:
    """What opens a heading or a bullet, so that the page keeps its outline."""
    first = line.split(maxsplit=1)[0]
    if heading and set(first) == {"#"}:
        return f"{first} "
    return "- " if first in {"-", "*"} else ""
