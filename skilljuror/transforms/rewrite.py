"""baseline and pd by rewriting: a model that follows a transformation Skill writes the Markdown.

This is the method of the study that the layouts come from; nothing here proves that the text
still says the same, which is what the gates are for. Everything that is not Markdown, and the
frontmatter, is taken from the source byte for byte.
"""

import re
import unicodedata
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePosixPath
from typing import ClassVar

from skilljuror.errors import TransformError
from skilljuror.knowledge.classes import is_markdown
from skilljuror.knowledge.frontmatter import frontmatter_end
from skilljuror.knowledge.render import render
from skilljuror.knowledge.text import read_text
from skilljuror.llm import Message, ModelDoor, as_data
from skilljuror.models.bundle import Blob, Bundle
from skilljuror.models.record import Record
from skilljuror.transforms.assignment import told
from skilljuror.transforms.baseline import Baseline
from skilljuror.transforms.carried import (
    Carried,
    carried_files,
    expanded_page,
    folded_page,
    placement_problems,
)
from skilljuror.transforms.pd import flat_skill
from skilljuror.transforms.prompts import Prompt

ROOT = "SKILL.md"
MAX_SHOWN = 400_000
"""Characters of Markdown that a model is asked to rewrite at once."""
GROWTH = 2.0
"""Largest length of an answer, as a multiple of what was shown, beyond `SPARE`."""
SPARE = 4_000
"""Characters for headings and routing rows, whatever the size."""
_REFERENCE = re.compile(r"references/(?:[A-Za-z0-9][\w-]*/)?[A-Za-z0-9][\w.-]{0,80}\.md")
_PLAIN_CONTROLS = frozenset("\n\t")


class WrittenFile(Record):
    """One Markdown file of a variant."""

    path: str
    """Path below the skill's folder."""
    text: str
    """All of its text."""


class Written(Record):
    """A variant as a model wrote it."""

    files: tuple[WrittenFile, ...]
    """Its Markdown files; every other file comes from the source."""


class Brief(ABC):
    """What one rewriting starts from, and what becomes of an answer."""

    variant: ClassVar[str]

    def __init__(self, root: str, head: Sequence[str], carried: Sequence[Carried]) -> None:
        self.folder = str(PurePosixPath(root).parent)
        self.head = tuple(head)
        """The frontmatter, its `---` lines included."""
        self.carried = tuple(carried)
        self.shown: dict[str, str] = {}
        """Path -> the Markdown that is to be rewritten."""
        self.data: dict[str, Blob] = {}
        """Path in the variant -> file that is copied as it is."""

    @property
    def size(self) -> int:
        """Characters shown."""
        return sum(map(len, self.shown.values()))

    @property
    def most(self) -> int:
        """Characters an answer may have."""
        return int(GROWTH * self.size) + SPARE

    def told(self) -> str:
        """The task and the bundle, as data."""
        request = {
            "layout": self.variant,
            "frontmatter": "\n".join(self.head),
            "carried": [one.told() for one in self.carried],
            "data": sorted(path.removeprefix(f"{self.folder}/") for path in self.data),
            "most_characters": self.most,
        }
        bundle = [{"path": path, "text": text} for path, text in self.shown.items()]
        return f"{as_data('request', request)}\n{as_data('bundle', bundle)}"

    def problem(self, answer: Written) -> str | None:
        """Why an answer cannot become a variant; what it says is for the gates to judge."""
        found = list(self._general(answer))
        return told(found or list(self._special(answer)))

    def _general(self, answer: Written) -> Iterator[str]:
        paths = [file.path for file in answer.files]
        if paths.count(ROOT) != 1:
            yield f"there must be exactly one {ROOT}"
        for path in sorted({path.casefold() for path in paths if paths.count(path) > 1}):
            yield f"the path {path[:80]!r} stands twice"
        for path in paths:
            if path != ROOT and not self._may_have(path):
                yield f"{path[:80]!r} is no path for this layout"
        size = sum(len(file.text) for file in answer.files)
        if size > self.most:
            yield f"the files have {size} characters, at most {self.most}"
        for file in answer.files:
            if not file.text.strip():
                yield f"{file.path[:80]!r} is empty"
        strange = _controls(file.text for file in answer.files) - _controls(self.shown.values())
        if strange:
            yield f"invisible characters that the bundle does not have: {sorted(map(ascii, strange))}"

    def _may_have(self, path: str) -> bool:
        return False

    @abstractmethod
    def _special(self, answer: Written) -> Iterator[str]:
        """What this layout asks on top."""

    @abstractmethod
    def files(self, answer: Written) -> dict[str, Blob]:
        """The files of the variant, in bytewise path order."""

    def _page(self, text: str, *, root: bool) -> list[str]:
        """The lines of a written file; a root gets the frontmatter of the source."""
        lines = text.replace("\r\n", "\n").split("\n")
        if root:
            body = lines[frontmatter_end(lines) :]
            return [*self.head, "", *_trimmed(body)]
        return _trimmed(lines)

    def _finished(
        self, pages: Mapping[str, Sequence[str]], more: Mapping[str, Blob]
    ) -> dict[str, Blob]:
        files = {**self.data, **more}
        for path, lines in pages.items():
            files[f"{self.folder}/{path}"] = Blob(("\n".join(lines) + "\n").encode())
        return {path: files[path] for path in sorted(files, key=str.encode)}


class FlatBrief(Brief):
    """A whole source into one SKILL.md. The deterministic baseline tells which files are carried,
    under which marker, and what the frontmatter is."""

    variant = "baseline"

    def __init__(self, source: Bundle) -> None:
        plan = Baseline().plan(source, {})
        made = render(plan, source)
        root = plan.files[0].path
        text = read_text(made[root])
        lines = text.lines if text else ()
        flat = Bundle(source.name, made, source.skills)
        del flat
        raise TransformError("x")
