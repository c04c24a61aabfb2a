"""What a model answers when it decides where sections go, and whether that can be done."""

import re
from collections import Counter
from collections.abc import Callable, Iterator

from skilljuror.knowledge.plans.trigger_sentences import split_trigger
from skilljuror.models.record import Record
from skilljuror.transforms.llm.sections_offered import OfferedSections

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


def assignment_problems(
    answer: Assignment, offer: OfferedSections, is_taken: Callable[[str], bool]
) -> list[str]:
    """Why the sections cannot be placed as answered, in words for the one who answered.

    `is_taken` knows the paths, below the skill's folder, that other files have. What the triggers
    say is judged later, against the files as they come out.
    """
    problems = [
        *_section_problems(answer, offer),
        *_path_problems(answer, is_taken),
        *_document_problems(answer, offer),
        *_trigger_problems(answer),
    ]
    return problems or [*_heading_problems(answer, offer)]


def joined_problems(problems: list[str]) -> str:
    """Problems as one line."""
    more = f"; and {len(problems) - SHOWN} more" if len(problems) > SHOWN else ""
    return "; ".join(problems[:SHOWN]) + more


def _section_problems(answer: Assignment, offer: OfferedSections) -> Iterator[str]:
    """Every section stands exactly once, and something moves."""
    named = [*answer.root, *(name for file in answer.files for name in file.sections)]
    counts, known = Counter(named), offer.by_id
    for name in known:
        if counts[name] != 1:
            yield f"section {name} is placed {counts[name] or 'nowhere'}{_times(counts[name])}"
    for name in counts:
        if name not in known:
            yield f"there is no section {_cut(name)!r}"
    for section in offer.sections:
        if section.opens and section.id not in answer.root:
            yield f"section {section.id} opens the skill and stays in the root"
    if not answer.files and not offer.documents:
        yield "no section moves; at least one must"


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
                f"{_cut(path)!r} is no path of a reference: references/<name>.md in lower-case"
                f" letters, digits and hyphens, at most {MAX_PATH} characters"
            )
        elif path in seen or is_taken(path):
            yield f"the path {path!r} is taken; each file needs its own"
        seen.add(path)
        if not file.sections:
            yield f"{_cut(path)!r} holds no section"


def _document_problems(answer: Assignment, offer: OfferedSections) -> Iterator[str]:
    counts = Counter(document.document for document in answer.documents)
    for name in offer.documents:
        if counts[name] != 1:
            yield f"document {name} needs exactly one trigger, it has {counts[name]}"
    for name in counts:
        if name not in offer.documents:
            yield f"there is no document {_cut(name)!r}"


def _trigger_problems(answer: Assignment) -> Iterator[str]:
    triggers = [(file.path, file.trigger) for file in answer.files]
    triggers += [(document.document, document.trigger) for document in answer.documents]
    for name, trigger in triggers:
        if split_trigger(trigger) is None:
            yield f"the trigger of {_cut(name)!r} is not one sentence 'when … because …'"


def _heading_problems(answer: Assignment, offer: OfferedSections) -> Iterator[str]:
    """A section leaves the root only with those that stand below its heading."""
    root = set(answer.root)
    for section in offer.sections:
        left = [inner.id for inner in offer.below(section) if inner.id in root]
        if section.id not in root and left:
            yield (
                f"section {section.id} is the head of {', '.join(left[:SHOWN])}, which stay in the"
                " root; keep it there too, or move them"
            )
