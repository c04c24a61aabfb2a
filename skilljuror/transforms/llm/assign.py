"""pd by assignment: a model decides what goes where, the renderer moves the text.

The answer is data: ids of sections, paths, one trigger sentence per file. The text itself never
passes through the model, so the variant is lossless by construction and proved as any other.
"""

from collections.abc import Iterator
from typing import Any, ClassVar
from urllib.parse import quote

from skilljuror.errors import TransformError
from skilljuror.knowledge.plans.render import BundleTexts, render
from skilljuror.knowledge.plans.trigger_sentences import TRIGGER_ROW, split_trigger, trigger_problems
from skilljuror.llm import Message, ModelClient, as_data
from skilljuror.models.bundle import Bundle
from skilljuror.models.plan import Plan
from skilljuror.transforms.llm.assignment_schema import Assignment, problems, told
from skilljuror.transforms.llm.sections_offered import Movable, Part
from skilljuror.transforms.layouts.progressive_disclosure import ROOT_LINES, flat_skill
from skilljuror.transforms.llm.assigned_layout import AssignedLayout
from skilljuror.transforms.disclosure.root_page import Draft, root_page
from skilljuror.transforms.llm.prompts import Prompt
from skilljuror.transforms.disclosure.routing_table import Routing, Row
from skilljuror.transforms.disclosure.sections import FlatSkill

SHOWN_CHARS = 200_000
"""Characters of the skill's text that a model is shown; beyond, every part is cut evenly."""
LEAST_CHARS = 200
REFERENCE_TOKENS = 6_000
"""Estimated tokens of a reference that holds several sections; more is better split."""


class Assigned:
    """Progressive Disclosure of a flat baseline, laid out by a model."""

    variant: ClassVar[str] = "pd"
    parent: ClassVar[str] = "baseline"

    def __init__(self, client: ModelClient, prompt: Prompt) -> None:
        """`prompt` is the transformation Skill that the model follows."""
        self.client = client
        self.prompt = prompt

    def plan(self, parent: Bundle, params: dict[str, Any]) -> Plan:
        """The plan as the model answered; `params["root_lines"]` overrides the root's budget.

        A skill in which nothing can move is not asked about. Raises TransformError for a bundle
        that is not one flat skill, ModelError when no answer can be used.
        """
        flat, sources = flat_skill(parent, self.variant)
        limit = int(params.get("root_lines", ROOT_LINES))
        desk = Desk(parent, sources, flat, limit)
        if desk.nothing_moves:
            return desk.plan(Assignment(root=tuple(desk.offer.by_id), files=()))
        answer, _ = self.client.ask_for(Assignment, self.messages(desk), desk.problem)
        return desk.plan(answer)

    def messages(self, desk: "Desk") -> list[Message]:
        """The Skill as instructions; everything from the bundle as delimited data."""
        return [
            {"role": "system", "content": self.prompt.text},
            {"role": "user", "content": desk.shown()},
        ]


class Desk:
    """One flat skill, what is asked about it, and what becomes of an answer."""

    def __init__(self, parent: Bundle, sources: BundleTexts, flat: FlatSkill, limit: int) -> None:
        self.parent = parent
        self.sources = sources
        self.flat = flat
        self.limit = limit
        self.offer = Movable(flat)

    @property
    def nothing_moves(self) -> bool:
        """Whether there is nothing to decide."""
        return not self.offer.documents and all(part.opens for part in self.offer.parts)

    def shown(self) -> str:
        """What the model is asked about, as data."""
        share = self._share()
        request = {
            "skill": self.parent.skills[0].name,
            "root_lines": self.limit,
            "reference_tokens": REFERENCE_TOKENS,
        }
        sections = [self._section(part, share) for part in self.offer.parts]
        documents = [
            {"id": name, "path": file.path, "text": _clip("\n".join(file.text.lines), share)}
            for name, file in self.offer.documents.items()
        ]
        blocks = (("request", request), ("sections", sections), ("documents", documents))
        return "\n".join(as_data(name, value) for name, value in blocks)

    def _section(self, part: Part, share: int) -> dict[str, Any]:
        group = part.group
        return {
            "id": part.id,
            "title": group.title,
            "below": [*([group.unit] if group.unit else []), *group.path],
            "lines": group.lines,
            "tokens": group.tokens,
            "opens": part.opens,
            "head_of": [one.id for one in self.offer.below(part)],
            "text": _clip(self.flat.text(group.ranges), share),
        }

    def _share(self) -> int:
        """Characters of each part that are shown."""
        sizes = [len(self.flat.text(part.group.ranges)) for part in self.offer.parts]
        sizes += [sum(map(len, file.text.lines)) for file in self.offer.documents.values()]
        if sum(sizes) <= SHOWN_CHARS:
            return max(sizes, default=0) + len(self.flat.lines)
        return max(LEAST_CHARS, SHOWN_CHARS // len(sizes))

    def problem(self, answer: Assignment) -> str | None:
        """Why an answer cannot be used; None when it can."""
        layout = self._layout()
        found = problems(answer, self.offer, layout.is_taken)
        found = found or list(self._long(answer))
        if found:
            return told(found)
        draft = self._draft(answer)
        over = len(draft.root.lines) - self.limit
        if over > 0 and any(not self.offer.by_id[name].opens for name in answer.root):
            return f"the root has {over} lines more than {self.limit}; move more of its sections"
        plan = draft.plan(Assigned.variant)
        made = Bundle(self.parent.name, render(plan, self.parent), self.parent.skills)
        triggers = [f"the trigger of {path!r} {why}" for path, why in trigger_problems(plan, made)]
        return told(triggers) or None

    def _long(self, answer: Assignment) -> Iterator[str]:
        """Files of several sections that are too long to be opened for one of them."""
        for file in answer.files:
            tokens = sum(self.offer.by_id[name].group.tokens for name in file.sections)
            if tokens > REFERENCE_TOKENS and len(file.sections) > 1:
                yield (
                    f"{file.path!r} has about {tokens} tokens, at most {REFERENCE_TOKENS};"
                    " spread its sections over several files"
                )

    def plan(self, answer: Assignment) -> Plan:
        """The plan of a usable answer."""
        return self._draft(answer).plan(Assigned.variant)

    def _layout(self) -> AssignedLayout:
        return AssignedLayout(self.parent, self.sources, self.flat)

    def _draft(self, answer: Assignment) -> Draft:
        layout = self._layout()
        homes = {name: file.path for file in answer.files for name in file.sections}
        kept, moved = self.offer.parted(homes)
        for file in answer.files:
            layout.add_file(file.path, moved[file.path])
        layout.finish()
        return Draft(layout, root_page(layout, kept, self._rows(layout, answer)))

    def _rows(self, layout: AssignedLayout, answer: Assignment) -> list[Row]:
        """The routing table, with the answer's triggers in the rows of its files."""
        triggers = {layout.shown_path(file.path): file.trigger for file in answer.files}
        for one in answer.documents:
            file = self.offer.documents[one.document]
            triggers[layout.shown_path(layout.placed[file.path])] = one.trigger
        return [_triggered(row, triggers) for row in Routing(layout).rows()]


def _triggered(row: Row, triggers: dict[str, str]) -> Row:
    path = row[1]["path"]
    if path not in triggers:
        return row
    halves = split_trigger(triggers[path])
    if halves is None:
        raise TransformError(f"the trigger of {path!r} is not 'when … because …'")
    return TRIGGER_ROW, {"path": path, "link": quote(path), "when": halves[0], "why": halves[1]}


def _clip(text: str, limit: int) -> str:
    return text if len(text) <= limit else f"{text[:limit]} […]"
