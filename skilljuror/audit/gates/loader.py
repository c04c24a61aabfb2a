"""Text that a loader of SKILL.md replaces or runs works in a variant where it works in the parent, and nowhere else."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from skilljuror.audit.comparison.loader_text import (
    RUN,
    LoaderLine,
    is_for_loader,
    loaded_lines,
    loader_lines,
    named_at_load,
)
from skilljuror.audit.gates.findings import Observation
from skilljuror.base.skill import Bundle
from skilljuror.skill.markdown import read_text


class _Loaded(NamedTuple):
    root: str
    line: LoaderLine


def gained_loader_text(parent: Bundle, variant: Bundle) -> Iterator[Observation]:
    """Yield lines of the variant's roots with loader text that the parent's own text in its roots does not have:
    text of a file that stands on the page is the file's."""
    before, after = _loaded(parent, own=True), _loaded(variant)
    for (root, line), tokens in _surplus(after, before):
        message = f"the loader of SKILL.md {_does(tokens)} here, which the source does not have in a SKILL.md"
        yield Observation("layout.loader-text", "", root, line.number, line.text, message)


def lost_loader_text(
    parent: Bundle, variant: Bundle, *, every: bool
) -> Iterator[tuple[Observation, str]]:
    """Yield (observation, line of the parent) for loader text that the roots do not have any more, and for files
    that it names and that are not there any more when it is loaded; unless `every`, only where it is meant."""
    for (root, line), tokens in _surplus(_loaded(parent, own=True), _loaded(variant)):
        if not (every or is_for_loader(parent, root)):
            continue
        file, number = _place(variant, line)
        lost = sorted({_KINDS.get(token[:2], "argument") for token in tokens})
        message = f"the line loses its {' and '.join(lost)}: only the loader of SKILL.md gives it"
        yield Observation("knowledge.loader-text", "", file, number, None, message), line.text
    there = {path for path, _, _, there in named_at_load(parent) if there}
    for path, root, line, still in named_at_load(variant):
        if path in there and not still:
            message = f"{path!r} is not there when SKILL.md is loaded"
            yield (
                Observation("knowledge.loader-text", path, root, line.number, line.text, message),
                line.text,
            )


_KINDS = {RUN: "injection", "${": "value"}
"""Begin of a token -> what it becomes; all others are arguments."""


def _does(tokens: Sequence[str]) -> str:
    replaced = ", ".join(dict.fromkeys(map(repr, filter(lambda one: one != RUN, tokens))))
    does = [f"replaces {replaced}"] if replaced else []
    return " and ".join(does + ["runs a command"] * (RUN in tokens))


def _loaded(bundle: Bundle, *, own: bool = False) -> list[_Loaded]:
    roots = (skill.path for skill in bundle.skills)
    return [_Loaded(root, line) for root in roots for line in loaded_lines(bundle, root, own=own)]


def _surplus(
    more: Sequence[_Loaded], less: Sequence[_Loaded]
) -> Iterator[tuple[_Loaded, list[str]]]:
    """Lines with tokens that one side has more often than the other; lines that the other has come last."""
    spare = Counter(token for one in more for token in one.line.tokens)
    spare.subtract(token for one in less for token in one.line.tokens)
    known = {one.line.text for one in less}
    for one in sorted(more, key=lambda one: one.line.text in known):
        tokens = [token for token in one.line.tokens if spare[token] > 0]
        spare.subtract(tokens)
        if tokens:
            yield one, tokens


def _place(variant: Bundle, line: LoaderLine) -> tuple[str, int | None]:
    """(file, line) where a line of a root went; the first root, if nowhere."""
    for path, blob in variant.files.items():
        text = read_text(blob) if line.text in (blob.text or "") else None
        for other in loader_lines(text.lines) if text else ():
            if other.text == line.text:
                return path, other.number
    return next((skill.path for skill in variant.skills), ""), None
