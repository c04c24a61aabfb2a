"""Ask a model which sections belong to the main path, where the rules cannot tell.

The answer is data: one scope and one sentence per section. The text never passes through the model, and
files, their names and the lines that lead to them follow from the text alone.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from skilljuror.audit.plans.trigger_sentences import split_trigger, trigger_problem
from skilljuror.base.build import Record
from skilljuror.base.llm import Message, ModelClient, as_data
from skilljuror.layouts.conditions import OpenSection, Scope, sections_of
from skilljuror.layouts.llm.prompts import Prompt, joined_problems
from skilljuror.layouts.sections import FlatSkill

SHOWN_CHARS = 200_000
"""Maximum characters of sections in a request; above it, every section is cut evenly."""
LEAST_CHARS = 200
MAX_REASON = 200  # maximum characters of a reason


class JudgedSection(Record):
    """What a model says of one section."""

    id: str
    """Id of the section in the question."""
    scope: Scope
    """Main path or branch."""
    reason: str
    """One sentence; for a branch "when … because …"."""


class ScopeAnswer(Record):
    """A model's answer: every section once."""

    sections: tuple[JudgedSection, ...]
    """One entry for each section."""


def ask_scopes(
    client: ModelClient, prompt: Prompt, flat: FlatSkill, sections: Sequence[OpenSection]
) -> list[tuple[OpenSection, JudgedSection]]:
    """Return the model's judgement of each section. Raises ModelError if no answer is usable."""
    asked = {f"s{number}": one for number, one in enumerate(sections, 1)}
    messages: list[Message] = [
        {"role": "system", "content": prompt.text},
        {"role": "user", "content": _question(flat, asked)},
    ]
    answer, _ = client.ask_for(ScopeAnswer, messages, lambda given: _problem(given, asked))
    return [(asked[one.id], one) for one in answer.sections]


def _question(flat: FlatSkill, asked: dict[str, OpenSection]) -> str:
    sizes = [len(one.text) for one in asked.values()]
    share = max(LEAST_CHARS, SHOWN_CHARS // len(sizes)) if sum(sizes) > SHOWN_CHARS else max(sizes)
    known = {one.start for one in asked.values()}
    outline = [
        {
            "title": one.node.title,
            "scope": "branch" if one.condition else "main" if one.reason else "undecided",
        }
        for one in sections_of(flat)
        if one.node.start not in known
    ]
    sections: list[dict[str, Any]] = [
        {
            "id": name,
            "title": one.title,
            "below": list(one.above),
            "text": one.text if len(one.text) <= share else f"{one.text[:share]} […]",
        }
        for name, one in asked.items()
    ]
    return "\n".join([as_data("outline", outline), as_data("sections", sections)])


def _problem(answer: ScopeAnswer, asked: dict[str, OpenSection]) -> str | None:
    """Why an answer is unusable; None if it is usable."""
    return joined_problems([*_problems(answer, asked)]) or None


def _problems(answer: ScopeAnswer, asked: dict[str, OpenSection]) -> Iterator[str]:
    counts = Counter(one.id for one in answer.sections)
    for name in asked:
        if counts[name] != 1:
            yield f"section {name} needs exactly one judgement, but has {counts[name]}"
    for one in answer.sections:
        section = asked.get(one.id)
        if section is None:
            yield f"unknown section {one.id[:MAX_REASON]!r}"
        elif problem := _reason_problem(one, section):
            yield f"the reason of {one.id} {problem}"


def _reason_problem(one: JudgedSection, section: OpenSection) -> str | None:
    """Why a reason does not fit its section: the situation of a branch must be what its title or opening is about."""
    if not one.reason.strip() or len(one.reason) > MAX_REASON or not one.reason.isprintable():
        return f"is not one line of 1 to {MAX_REASON} characters"
    if one.scope == "main":
        return None
    halves = split_trigger(one.reason)
    if halves is None:
        return "is not one sentence 'when … because …'"
    blocks = [one.strip("# \n") for one in section.text.split("\n\n") if one.strip()]
    problem = trigger_problem(*halves, [*blocks, section.text])
    return problem and problem.replace("its file", "its text")
