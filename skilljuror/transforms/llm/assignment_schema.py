"""What a model answers when it decides where sections go, and whether that can be done."""

import re
from collections import Counter
from collections.abc import Callable, Iterator

from skilljuror.knowledge.plans.trigger_sentences import split_trigger
from skilljuror.models.record import Record
from skilljuror.transforms.llm.sections_offered import Movable

MAX_PATH = 80
SHOWN = 6
"""Problems of one answer that are told at once."""
_PATH = re.compile(r"references/(?:[a-z0-9][a-z0-9-]*/)?[a-z0-9][a-z0-9-]*\.md")


class NewFile(Record):
    """A reference file made of sections."""

    path: str
    """Path below the skill's folder: references/, at most one folder, a lower-case name, .md."""
    sections: tuple[str, ...]
    """Ids of its sections; they keep the order they have in the document."""
    trigger: str
    """One sentence, "when … because …", that says when to open the file and why."""


class DocumentTrigger(Record):
    """The trigger of a file that the skill carries already."""

    document: str
    """Id of the document."""
    trigger: str
    """One sentence, "when … because …"."""


class Assignment(Record):
    """Where every section goes."""

    root: tuple[str, ...]
    """Ids of the sections that stay in SKILL.md."""
    files: tuple[NewFile, ...]
    """The reference files, in the order in which the root names them."""
    documents: tuple[DocumentTrigger, ...] = ()
    """One trigger for each document."""


def problems(answer: Assignment, offer: Movable, is_taken: Callable[[str], bool]) -> list[str]:
    """Why the sections cannot be placed as answered, in words for the one who answered.

    `is_taken` knows the paths, below the skill's folder, that other files have. What the triggers
    say is judged later, against the files as they come out.
    """
    found = [
        *_placed(answer, offer),
        *_paths(answer, is_taken),
        *_documents(answer, offer),
        *_shapes(answer),
    ]
    return found or [*_headings(answer, offer)]


def told(found: list[str]) -> str:
    """Problems as one line."""
    more = f"; and {len(found) - SHOWN} more" if len(found) > SHOWN else ""
    return "; ".join(found[:SHOWN]) + more


def _placed(answer: Assignment, offer: Movable) -> Iterator[str]:
    """Every section stands exactly once, and something moves."""
    named = [*answer.root, *(one for file in answer.files for one in file.sections)]
    counts, known = Counter(named), offer.by_id
    for name in known:
        if counts[name] != 1:
            yield f"section {name} is placed {counts[name] or 'nowhere'}{_times(counts[name])}"
    for name in counts:
        if name not in known:
            yield f"there is no section {_cut(name)!r}"
    for part in offer.parts:
        if part.opens and part.id not in answer.root:
            yield f"section {part.id} opens the skill and stays in the root"
    if not answer.files and not offer.documents:
        yield "no section moves; at least one must"


def _times(count: int) -> str:
    return " times" if count else ""


def _cut(text: str) -> str:
    return text if len(text) <= MAX_PATH else f"{text[:MAX_PATH]}…"


def _paths(answer: Assignment, is_taken: Callable[[str], bool]) -> Iterator[str]:
    seen: set[str] = set()
    for file in answer.files:
        path = file.path
        if len(path) > MAX_PATH or not _PATH.fullmatch(path):
            yield (
                f"{_cut(path)!r} is no path of a reference: references/<name>.md in lower-case"
                f" letters, digits and hyphens, at most {MAX_PATH} characters"
            )
        elif path in seen or is_taken(path):
            yield f"the path {path!r} is taken; each file needs its own"
        seen.add(path)
        if not file.sections:
            yield f"{_cut(path)!r} holds no section"


def _documents(answer: Assignment, offer: Movable) -> Iterator[str]:
    counts = Counter(one.document for one in answer.documents)
    for name in offer.documents:
        if counts[name] != 1:
            yield f"document {name} needs exactly one trigger, it has {counts[name]}"
    for name in counts:
        if name not in offer.documents:
            yield f"there is no document {_cut(name)!r}"


def _shapes(answer: Assignment) -> Iterator[str]:
    told = [(file.path, file.trigger) for file in answer.files]
    told += [(one.document, one.trigger) for one in answer.documents]
    for name, trigger in told:
        if split_trigger(trigger) is None:
            yield f"the trigger of {_cut(name)!r} is not one sentence 'when … because …'"


def _headings(answer: Assignment, offer: Movable) -> Iterator[str]:
    """A section leaves the root only with those that stand below its heading."""
    root = set(answer.root)
    for part in offer.parts:
        left = [one.id for one in offer.below(part) if one.id in root]
        if part.id not in root and left:
            yield (
                f"section {part.id} is the head of {', '.join(left[:SHOWN])}, which stay in the"
                " root; keep it there too, or move them"
            )
