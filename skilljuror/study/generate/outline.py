"""The generator `outline`: lines of a source's Markdown, chosen by rules; no model takes part."""

from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath
from typing import NamedTuple

from skilljuror.base.errors import UsageError
from skilljuror.base.skill import Blob, is_licence, is_markdown
from skilljuror.base.texts import count, tokenize
from skilljuror.skill.markdown.block_index import Heading, MarkdownIndex, slug
from skilljuror.skill.markdown.text_file import read_text
from skilljuror.study.generate.orders import Order

TOKENS = 5_000
"""Default limit of an outline."""
_SHORTEST = 4
"""Letters of a word that can match a task: shorter ones are in every text."""


class _Part(NamedTuple):
    """A block of a page with the headings above it; lines are those of the source."""

    place: int
    lines: tuple[str, ...]
    above: tuple[tuple[int, tuple[str, ...]], ...]
    """(place, lines) of each heading, outermost first."""
    matching: int
    """Different words of the task in the block and its headings."""


def outline(order: Order) -> dict[str, Blob]:
    """Return the outline of the order's source as a Skill. Raises UsageError for one without Markdown.

    Parts with most of the task's words are taken first, within the limit; all are in source order.
    """
    words = {word for word in tokenize(order.instruction) if len(word) >= _SHORTEST}
    name = slug(order.name, 64)
    about = f"for the task {order.name}" if order.task else "in its order"
    head = [
        "---",
        f"name: {name}",
        f"description: Lines of {order.source.name}, chosen {about}.",
        "---",
        "",
    ]
    limit = (order.tokens or TOKENS) - count("\n".join(head))
    taken: dict[int, tuple[str, ...]] = {}
    for part in sorted(_parts(order, words), key=lambda one: (-one.matching, one.place)):
        new = dict([*part.above, (part.place, part.lines)])
        new = {place: lines for place, lines in new.items() if place not in taken}
        cost = sum(count("\n".join([*lines, "", ""])) for lines in new.values())
        if cost <= limit:
            taken |= new
            limit -= cost
    if not taken:
        why = "has no Markdown" if limit > 0 else "does not fit"
        raise UsageError(
            f"outline: {order.source.source!r} {why}; name a source with Markdown files, or raise --tokens",
            field="tokens",
        )
    text = "\n".join([*head, *(line for at in sorted(taken) for line in (*taken[at], ""))])
    licences = {path: one for path, one in order.source.files.items() if is_licence(path)}
    return {
        f"{name}/SKILL.md": Blob(text.encode()),
        **{f"{name}/{PurePosixPath(path).name}": one for path, one in reversed(licences.items())},
    }


def _parts(order: Order, words: set[str]) -> Iterator[_Part]:
    first = 0
    for path, blob in order.source.files.items():
        text = read_text(blob) if is_markdown(path) and not is_licence(path) else None
        if text is None or (order.from_task and path == "instruction.md"):
            continue
        yield from _parts_of(MarkdownIndex(text.lines), first, words)
        first += len(text.lines) + 1


def _parts_of(page: MarkdownIndex, first: int, words: set[str]) -> Iterator[_Part]:
    opened: list[Heading] = []
    headings = {one.start: one for one in page.headings}
    for block in page.blocks:
        lines = page.lines[block.start : block.end]
        if heading := headings.get(block.start):
            opened = [*(one for one in opened if one.level < heading.level), heading]
        elif block.kind != "html_block" and any(map(str.strip, lines)):
            above = tuple((first + one.start, page.lines[one.start : one.end]) for one in opened)
            said = tokenize("\n".join([*lines, *_lines(above)]))
            yield _Part(first + block.start, lines, above, len(words.intersection(said)))


def _lines(above: Sequence[tuple[int, tuple[str, ...]]]) -> Iterator[str]:
    return (line for _, lines in above for line in lines)
