"""pd by assignment: a model decides the layout, the renderer moves the text.

The answer is data: section ids, paths, one trigger sentence per file. The text never passes through the
model, so the variant is lossless by construction and verified like any other.
"""

from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import PurePosixPath
from typing import Any, ClassVar
from urllib.parse import quote

from skilljuror.errors import TransformError
from skilljuror.knowledge.markdown.block_index import can_shift, visible_text
from skilljuror.knowledge.plans.render import render
from skilljuror.knowledge.plans.trigger_sentences import (
    TRIGGER_ROW,
    split_trigger,
    trigger_problems,
)
from skilljuror.llm import Message, ModelClient, as_data
from skilljuror.models.bundle import Bundle
from skilljuror.models.plan import Plan
from skilljuror.transforms.disclosure.file_layout import LONG_LINES, FileLayout, ReferenceFile
from skilljuror.transforms.disclosure.root_page import DisclosureDraft, root_page
from skilljuror.transforms.disclosure.routing_table import RoutingRow, RoutingTable
from skilljuror.transforms.disclosure.sections import FlatSkill, SectionGroup, merged_ranges
from skilljuror.transforms.disclosure.trigger_cues import topics
from skilljuror.transforms.editing.page_builder import PageBuilder
from skilljuror.transforms.layouts.progressive_disclosure import ROOT_LINES, flat_skill
from skilljuror.transforms.llm.assignment_schema import (
    Assignment,
    OfferedSection,
    OfferedSections,
    assignment_problems,
    joined_problems,
)
from skilljuror.transforms.llm.prompts import Prompt

LISTED = 3  # sections from which a long file opens with a table of contents


class AssignedLayout(FileLayout):
    """A layout that places embedded files first, so that their paths are known."""

    def __init__(self, flat: FlatSkill) -> None:
        super().__init__(flat)
        self.add_embedded()
        self._embedded_references = self.references
        self.references = []

    def is_taken(self, path: str) -> bool:
        """Whether another file or folder has the path (below the skill's folder)."""
        return self._is_taken(self._variant_path(path))

    def shown_path(self, path: str) -> str:
        """Return a path of an answer or of the variant, relative to the root's folder."""
        inside = path.startswith(f"{self.folder}/")
        return self.shown(path if inside else self._variant_path(path))

    def _variant_path(self, path: str) -> str:
        return f"{self._folder_of('')}/{path.removeprefix('references/')}"

    def add_file(self, path: str, groups: Sequence[SectionGroup]) -> None:
        """Add a reference at `path` with the groups in the given order."""
        page = PageBuilder(self._free(self._variant_path(path)), self.flat.texts)
        ranges = [lines for group in groups for lines in group.ranges]
        runs = [list(run) for _, run in groupby(groups, lambda group: (group.path, group.skill))]
        if len(runs) == 1:
            self._fill(page, ranges, self._title(groups))
        else:
            self._fill_runs(page, runs, self._title(groups))
        titles = [group.title for group in groups]
        titles += [heading.title for heading in self.headings_in(ranges)]
        self.references.append(ReferenceFile(page, tuple(titles)))

    def finish(self) -> None:
        """Move the references of embedded files behind those that were added."""
        self.references += self._embedded_references

    def _title(self, groups: Sequence[SectionGroup]) -> str:
        """The headings inside; for text that starts without its heading, that heading."""
        continued = not self.headings_in(groups[0].ranges[:1])
        titles = [group.title or "".join(group.path[-1:]) for group in groups]
        return topics(titles[:1] if continued else titles) or PurePosixPath(self.folder).name

    def _fill_runs(
        self, page: PageBuilder, runs: Sequence[Sequence[SectionGroup]], title: str
    ) -> None:
        page.generate("reference-title", title=title)
        titles = [visible_text(run[0].title) for run in runs if visible_text(run[0].title)]
        if len(titles) >= LISTED and sum(group.lines for run in runs for group in run) > LONG_LINES:
            page.contents(titles)
        for run in runs:
            ranges = merged_ranges([lines for group in run for lines in group.ranges])
            headings = self.headings_in(ranges)
            shift = 2 - min((heading.level for heading in headings), default=2)
            shift = shift if can_shift(headings, shift) else 0
            for start, end in ranges:
                page.gap()
                self.copy_trimmed(page, start, end, shift)


SHOWN_CHARS = 200_000
"""Maximum characters of the skill's text in a request; above it, every section is cut evenly."""
LEAST_CHARS = 200
REFERENCE_TOKENS = 6_000  # maximum estimated tokens of a reference with several sections


class AssignedDisclosure:
    """Progressive Disclosure of a flat baseline, laid out by a model."""

    variant: ClassVar[str] = "pd"
    parent: ClassVar[str] = "baseline"

    def __init__(self, client: ModelClient, prompt: Prompt) -> None:
        self.client = client
        self.prompt = prompt

    def plan(self, parent: Bundle, params: dict[str, Any]) -> Plan:
        """Return the plan of the model's answer; `params["root_lines"]` overrides the root's maximum of lines.

        No request is sent if nothing can move. Raises TransformError for a bundle that is not one flat skill,
        ModelError if no answer is usable.
        """
        limit = int(params.get("root_lines", ROOT_LINES))
        request = AssignmentRequest(flat_skill(parent, self.variant), limit)
        if request.nothing_moves:
            return request.plan(Assignment(root=tuple(request.offer.by_id), files=()))
        answer, _ = self.client.ask_for(Assignment, self.messages(request), request.problem)
        return request.plan(answer)

    def messages(self, request: "AssignmentRequest") -> list[Message]:
        """Return the Skill as instructions, and everything from the bundle as delimited data."""
        return [
            {"role": "system", "content": self.prompt.text},
            {"role": "user", "content": request.shown()},
        ]


class AssignmentRequest:
    """The request for one flat skill, and the plan of an answer."""

    def __init__(self, flat: FlatSkill, limit: int) -> None:
        self.parent = flat.bundle
        self.flat = flat
        self.limit = limit
        self.offer = OfferedSections(flat)

    @property
    def nothing_moves(self) -> bool:
        return not self.offer.documents and all(one.opens for one in self.offer.sections)

    def shown(self) -> str:
        share = self._share()
        task = {
            "skill": self.parent.skills[0].name,
            "root_lines": self.limit,
            "reference_tokens": REFERENCE_TOKENS,
        }
        sections = [self._section(one, share) for one in self.offer.sections]
        documents = [
            {"id": name, "path": file.path, "text": _clip("\n".join(file.text.lines), share)}
            for name, file in self.offer.documents.items()
        ]
        blocks = (("request", task), ("sections", sections), ("documents", documents))
        return "\n".join(as_data(name, value) for name, value in blocks)

    def _section(self, section: OfferedSection, share: int) -> dict[str, Any]:
        group = section.group
        return {
            "id": section.id,
            "title": group.title,
            "below": [*([group.skill] if group.skill else []), *group.path],
            "lines": group.lines,
            "tokens": group.tokens,
            "opens": section.opens,
            "head_of": [inner.id for inner in self.offer.below(section)],
            "text": _clip(self.flat.text(group.ranges), share),
        }

    def _share(self) -> int:
        sizes = [len(self.flat.text(one.group.ranges)) for one in self.offer.sections]
        sizes += [sum(map(len, file.text.lines)) for file in self.offer.documents.values()]
        if sum(sizes) <= SHOWN_CHARS:
            return max(sizes, default=0) + len(self.flat.lines)
        return max(LEAST_CHARS, SHOWN_CHARS // len(sizes))

    def problem(self, answer: Assignment) -> str | None:
        """Return why an answer is unusable; None if it is usable."""
        problems = assignment_problems(answer, self.offer, AssignedLayout(self.flat).is_taken)
        problems = problems or list(self._too_long(answer))
        if problems:
            return joined_problems(problems)
        draft = self._draft(answer)
        over = len(draft.root.lines) - self.limit
        if over > 0 and any(not self.offer.by_id[name].opens for name in answer.root):
            return f"the root is {over} lines longer than {self.limit}; move more of its sections"
        plan = draft.plan(AssignedDisclosure.variant)
        made = Bundle(self.parent.name, render(plan, self.parent), self.parent.skills)
        triggers = [f"the trigger of {path!r} {why}" for path, why in trigger_problems(plan, made)]
        return joined_problems(triggers) or None

    def _too_long(self, answer: Assignment) -> Iterator[str]:
        for file in answer.files:
            tokens = sum(self.offer.by_id[name].group.tokens for name in file.sections)
            if tokens > REFERENCE_TOKENS and len(file.sections) > 1:
                yield (
                    f"{file.path!r} has about {tokens} tokens, at most {REFERENCE_TOKENS};"
                    " spread its sections over several files"
                )

    def plan(self, answer: Assignment) -> Plan:
        return self._draft(answer).plan(AssignedDisclosure.variant)

    def _draft(self, answer: Assignment) -> DisclosureDraft:
        layout = AssignedLayout(self.flat)
        file_of = {name: file.path for file in answer.files for name in file.sections}
        kept, moved = self.offer.divide(file_of)
        for file in answer.files:
            layout.add_file(file.path, moved[file.path])
        layout.finish()
        return DisclosureDraft(layout, root_page(layout, kept, self._rows(layout, answer)))

    def _rows(self, layout: AssignedLayout, answer: Assignment) -> list[RoutingRow]:
        triggers = {layout.shown_path(file.path): file.trigger for file in answer.files}
        for document in answer.documents:
            file = self.offer.documents[document.document]
            triggers[layout.shown_path(layout.variant_paths[file.path])] = document.trigger
        return [_with_trigger(row, triggers) for row in RoutingTable(layout).rows()]


def _with_trigger(row: RoutingRow, triggers: dict[str, str]) -> RoutingRow:
    path = row[1]["path"]
    if path not in triggers:
        return row
    halves = split_trigger(triggers[path])
    if halves is None:
        raise TransformError(f"the trigger of {path!r} is not 'when … because …'")
    return TRIGGER_ROW, {"path": path, "link": quote(path), "when": halves[0], "why": halves[1]}


def _clip(text: str, limit: int) -> str:
    return text if len(text) <= limit else f"{text[:limit]} […]"
