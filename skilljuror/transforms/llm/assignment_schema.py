"""The answer of a model that assigns sections to files, and its validation."""

import re
from collections import Counter
from collections.abc import Callable, Iterator

from skilljuror.knowledge.plans.trigger_sentences import split_trigger
from skilljuror.models.record import Record
from skilljuror.transforms.llm.sections_offered import OfferedSections

MAX_PATH = 80
SHOWN = 6
"""Maximum number of problems reported at once."""
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
    """The trigger of a file that the skill already carries."""

    document: str
    """Id of the document."""
    trigger: str
    """One sentence, "when … because …"."""


class Assignment(Record):
    """The place of every section."""

    root: tuple[str, ...]
    """Ids of the sections that stay in SKILL.md."""
    files: tuple[NewFile, ...]
    """The reference files, in the order in which the root names them."""
    documents: tuple[DocumentTrigger, ...] = ()
    """One trigger for each document."""


def assignment_problems(
    answer: Assignment, offer: OfferedSections, is_taken: Callable[[str], bool]
) -> list[str]:
    """Return the problems of an answer, as messages to the model.

    `is_taken` knows the paths, below the skill's folder, of other files. Triggers are checked later,
    against the resulting files.
    """
    problems = [
        *_section_problems(answer, offer),
        *_path_problems(answer, is_taken),
        *_document_problems(answer, offer),
        *_trigger_problems(answer),
    ]
    return problems or [*_heading_problems(answer, offer)]


def joined_problems(problems: list[str]) -> str:
    """Return problems as one line."""
    more = f"; and {len(problems) - SHOWN} more" if len(problems) > SHOWN else ""
    return "; ".join(problems[:SHOWN]) + more


def _section_problems(answer: Assignment, offer: OfferedSections) -> Iterator[str]:
    named = [*answer.root, *(name for file in answer.files for name in file.sections)]
    counts, known = Counter(named), offer.by_id
    for name in known:
        if counts[name] != 1:
            yield f"section {name} is placed {counts[name] or 'nowhere'}{_times(counts[name])}"
    for name in counts:
        if name not in known:
            yield f"unknown section {_cut(name)!r}"
    for section in offer.sections:
        if section.opens and section.id not in answer.root:
            yield f"section {section.id} opens the skill and must stay in the root"
    if not answer.files and not offer.documents:
        yield "no section moves; move at least one"


def _times(count: int) -> str:
    return " times" if count else ""


def _cut(text: str) -> str:
    return text if len(text) <= MAX_PATH else f"{text[:MAX_PATH]}…"


def _path_problems(answer: Assignment, is_taken: Callable[[str], bool]) -> Iterator[str]:
    seen: set[str] = set()
    for file in answer.files:
        path = file.path
        if len(path) > MAX_PATH or not _PATH.fullmatch(path):
            yield (
                f"invalid path {_cut(path)!r}: use references/<name>.md in lower-case letters,"
                f" digits and hyphens, at most {MAX_PATH} characters"
            )
        elif path in seen or is_taken(path):
            yield f"path {path!r} is already in use; each file needs its own"
        seen.add(path)
        if not file.sections:
            yield f"{_cut(path)!r} has no sections"


def _document_problems(answer: Assignment, offer: OfferedSections) -> Iterator[str]:
    counts = Counter(document.document for document in answer.documents)
    for name in offer.documents:
        if counts[name] != 1:
            yield f"document {name} needs exactly one trigger, but has {counts[name]}"
    for name in counts:
        if name not in offer.documents:
            yield f"unknown document {_cut(name)!r}"


def _trigger_problems(answer: Assignment) -> Iterator[str]:
    triggers = [(file.path, file.trigger) for file in answer.files]
    triggers += [(document.document, document.trigger) for document in answer.documents]
    for name, trigger in triggers:
        if split_trigger(trigger) is None:
            yield f"the trigger of {_cut(name)!r} is not one sentence 'when … because …'"


def _heading_problems(answer: Assignment, offer: OfferedSections) -> Iterator[str]:
    """A section may leave the root only together with its subsections."""
    root = set(answer.root)
    for section in offer.sections:
        left = [inner.id for inner in offer.below(section) if inner.id in root]
        if section.id not in root and left:
            yield (
                f"section {section.id} is the heading of {', '.join(left[:SHOWN])}, which stay in the"
                " root; keep it there too, or move them"
            )
