"""Ask a model which sections belong to the main path, where the rules cannot tell.

The answer is data: one scope and one sentence per section. The text never passes through the model, and
files, their names and the lines that lead to them follow from the text alone.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from skilljuror.audit.plans.render import render
from skilljuror.base.build import Record
from skilljuror.base.files import append_jsonl
from skilljuror.base.llm import Message, ModelClient, as_data
from skilljuror.base.review import Decision
from skilljuror.base.review_rows import current_decisions, now, rows_of
from skilljuror.base.skill import Bundle
from skilljuror.layouts.conditions import OpenSection, Scope, open_sections, sections_of
from skilljuror.layouts.flattening import Baseline
from skilljuror.layouts.llm.prompts import Prompt, joined_problems, load_prompt
from skilljuror.layouts.sections import FlatSkill
from skilljuror.skill.bundles import SCOPES, make_bundle
from skilljuror.skill.critical_tokens import critical_tokens

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
    answer, _ = client.ask_for(
        ScopeAnswer, messages, lambda given: joined_problems([*_problems(given, asked)]) or None
    )
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


PROMPT = "assign-sections"
ITEM = "scope:"
"""Prefix of the id of a question: `scope:KEY`, with the key of the section."""
MODEL = "model "
"""Prefix of the name of a model that decided."""


def scope_file(source: Path) -> Path:
    """Return where the judgements on a source are stored: beside it, or beside the task that holds it."""
    place = source.resolve()
    tasks = [one for one in place.parents if (one / "instruction.md").is_file()]
    holder = tasks[0] if tasks else place
    return holder.with_name(f"{holder.name}{SCOPES}")


def flat_page(bundle: Bundle) -> FlatSkill:
    """Return the page of a source that `pd` is laid out from. Raises TransformError."""
    files = render(Baseline().plan(bundle, {}), bundle)
    return FlatSkill(make_bundle(bundle.name, files))


def judged_scopes(source: Path, bundle: Bundle) -> dict[str, dict[str, Any]]:
    """Return key -> title, scope and judge of the judged sections of a source, in document order.

    Raises StudyError for a damaged file.
    """
    path = scope_file(source)
    if not path.is_file():
        return {}
    decided = _by_section(current_decisions(rows_of(Decision, path)))
    return {
        one.key: {"title": one.title, "scope": decided[one.key].answer, "by": decided[one.key].by}
        for one in open_sections(flat_page(bundle))
        if one.key in decided
    }


def _by_section(rows: Iterable[Decision]) -> dict[str, Decision]:
    """The decision that counts by key: the latest, of a person if there is one."""
    found: dict[str, Decision] = {}
    for row in rows:
        key = row.item.removeprefix(ITEM)
        known = found.get(key)
        if known is None or not is_model(row.by) or is_model(known.by):
            found[key] = row
    return found


def is_model(by: str) -> bool:
    """Whether a model decided."""
    return by.startswith(MODEL)


def judge_scopes(source: Path, bundle: Bundle, client: ModelClient) -> int:
    """Ask the model about the open sections that nobody judged; return their number.

    Raises ModelError if no answer is usable, StudyError for a damaged file.
    """
    flat, known = flat_page(bundle), judged_scopes(source, bundle)
    asked = list({one.key: one for one in open_sections(flat) if one.key not in known}.values())
    if asked:
        found = ask_scopes(client, load_prompt(PROMPT), flat, asked)
        by, at = f"{MODEL}{client.choice.model}", now()
        rows = [
            Decision(
                item=f"{ITEM}{section.key}", answer=one.scope, reason=one.reason, by=by, at=at,
                seen=section.key,
            )
            for section, one in found
        ]  # fmt: skip
        append_jsonl(scope_file(source), *rows)
    return len(asked)


# ---- sentences that say when and why to open a file ----------------------------------------------
# They cannot add requirements: their critical tokens (numbers, comparators, modals, code spans, paths, flags) must be in
# the text that they lead to. They cannot mislead: "when" has a word of its title or opening, "because" a word of it.

OPENING = 3  # number of texts of a file, its title first, that say what it is about
FILE_WORDS = 10
"""Distinct words of a file up to which one shared word is enough; a text in another script has none."""
MAX_SHOWN = 60  # maximum characters of a title in a message
SHOWN = 4

_SHAPE = re.compile(r"[Ww]hen (.+?),? because (.+)")
_MARKS = re.compile(r"[`*\[\]<>|#{}\\~^]|(?<!\w)_|_(?!\w)|://|--|&#?\w+;")
_BREAK = re.compile(r"[.!?;:]\s")
_WORD = re.compile(r"[A-Za-z]{3,}")
_ENDING = re.compile(
    r"(?<=[a-z]{4})(?:ings?|ers?|ed|es|ions?|e|y)$|(?<=[a-z]{3}e)d$|(?<=[a-z]{3})s$"
)
"""Endings by which forms of a word differ, such as "field" and "fields", "sign" and "signed"."""
_EVERYDAY = frozenset({
    "when", "because", "this", "that", "file", "with", "from", "into", "they", "them", "have",
    "then", "task", "skill", "need", "agent", "work", "step", "which", "what", "read", "open",
    "your", "the", "and", "for", "are", "was", "its", "not", "you", "can", "has", "all", "any",
    "how", "use", "used", "using", "one", "two", "per", "via", "let", "get", "set", "new", "may",
    "will", "does", "did", "out", "off", "but", "too", "also", "only", "other", "there", "here",
    "these", "those",
})  # fmt: skip
"""Words that do not describe a file."""


def split_trigger(sentence: str) -> tuple[str, str] | None:
    """Return both halves of "when … because …" without full stop; None for any other sentence."""
    match = _SHAPE.fullmatch(sentence.strip().removesuffix("."))
    return (match[1].strip(), match[2].strip()) if match else None


def trigger_problem(when: str, why: str, texts: Iterable[str]) -> str | None:
    """Return why a trigger may not lead to a file with `texts`; None if it may."""
    sentence = f"when {when}, because {why}."
    if _MARKS.search(sentence):
        return "contains Markdown, markup or a URL; use plain words"
    if _BREAK.search(sentence):
        return "is more than one plain sentence"
    texts = list(texts)
    known = {token for text in texts for token in critical_tokens(text)}
    unknown = dict.fromkeys(
        t.partition(":")[2] for t in critical_tokens(sentence) if t not in known
    )
    if unknown:
        shown = [repr(value.replace("|", " ").strip()) for value in unknown]
        return f"says {', '.join(shown[:SHOWN])}, which its file does not say"
    file_stems = {stem for text in texts for stem in _stems(text)}
    if len(file_stems) < FILE_WORDS:
        foreign = bool(file_stems) and not _stems(sentence) & file_stems
        return "has no word of its file" if foreign else None
    about = {stem for text in texts[:OPENING] for stem in _stems(text)}
    if about and not _stems(when) & about:
        title = texts[0] if len(texts[0]) <= MAX_SHOWN else f"{texts[0][:MAX_SHOWN]}…"
        return f"says a 'when' that its file is not about: {title!r}"
    return None if _stems(why) & file_stems else "says a 'because' without a word of its file"


def _stems(text: str) -> set[str]:
    words = {word.lower() for word in _WORD.findall(text)} - _EVERYDAY
    return {_ENDING.sub("", _ENDING.sub("", word)) for word in words} - _EVERYDAY
