"""Main path or branch: what the rules leave open is judged once per source, by a model or a person.

The judgements are decisions in `NAME.scope.jsonl` beside the source, or beside the task that holds it, where
no agent finds them. The latest one on a section counts, a person's before a model's. A section whose text
changed is another section.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from skilljuror.audit.plans.render import render
from skilljuror.base.files import append_jsonl
from skilljuror.base.llm import ModelClient
from skilljuror.base.review import Decision
from skilljuror.base.review_rows import current_decisions, now, rows_of
from skilljuror.base.skill import Bundle
from skilljuror.layouts.conditions import OpenSection, open_sections
from skilljuror.layouts.layouts.baseline import Baseline
from skilljuror.layouts.llm.prompts import load_prompt
from skilljuror.layouts.llm.scopes import ask_scopes
from skilljuror.layouts.sections import FlatSkill
from skilljuror.skill.bundles import SCOPES, make_bundle

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
        append_jsonl(
            scope_file(source),
            *(_decision(section, one.scope, one.reason, by, at) for section, one in found),
        )
    return len(asked)


def _decision(section: OpenSection, scope: Any, reason: str, by: str, at: str) -> Decision:
    return Decision(
        item=f"{ITEM}{section.key}", answer=scope, reason=reason, by=by, at=at, seen=section.key
    )
