"""Ask reviewers about rubric items without a yes, with the quotes marked in source and variant."""

from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from skilljuror.base.review import ADJUDICATIONS, ItemState, ReviewItem, ReviewText, RubricVerdict
from skilljuror.base.skill import Bundle
from skilljuror.layouts.build.reviews import reviewed
from skilljuror.review.findings import ASKED, BuildTexts, Question, excerpt
from skilljuror.study.waivers import store_for

SUSPICION = {"no": 0.95, "unknown": 0.6}
"""Review priority by answer."""
DISAGREEMENT = 0.8
"""Review priority if code and model differ."""


def rubric_questions(place: Path, builds: list[Path]) -> list[Question]:
    """Return one question per judged item without a yes; items about the same texts share one."""
    alike: dict[str, list[tuple[Path, ItemState]]] = defaultdict(list)
    for build in builds:
        for state in reviewed(build).items:
            if state.verdict is not None and state.answer != "yes":
                alike[state.verdict.seen].append((build, state))
    return [_question(place, seen, found) for seen, found in alike.items()]


def _question(place: Path, seen: str, found: list[tuple[Path, ItemState]]) -> Question:
    build, state = found[0]
    stores = {
        f"rubric:{where.resolve().name}/{one.variant}/{one.item.id}": store_for(place, where)
        for where, one in found
    }
    first, *others = stores
    item = ReviewItem(
        id=first,
        kind="rubric",
        title=f"{build.resolve().name}/{state.variant} · {state.item.id}",
        question=f"{state.item.question} {state.item.acceptance} {ASKED}",
        answers=ADJUDICATIONS,
        suspicion=DISAGREEMENT if state.disagrees else SUSPICION[state.answer or "unknown"],
        texts=tuple(_texts(BuildTexts(build), state)),
        machine=_verdict_text(state),
        repeats=tuple(others),
    )
    return Question(item, seen, stores)


def _verdict_text(state: ItemState) -> str:
    verdict = state.verdict
    assert verdict is not None
    code = f"code: {state.code}; " if state.code else ""
    reason = f" ({verdict.reason})" if verdict.reason else ""
    return f"{code}{verdict.model}: {verdict.answer}{reason}: {verdict.evidence}"


def _texts(texts: BuildTexts, state: ItemState) -> Iterator[ReviewText]:
    """Both sides: the quoted files around their quotes, else the roots."""
    sides = (
        ("source", "source", texts.source),
        ("candidate", state.variant, texts.bundle(state.variant)),
    )
    for side, name, bundle in sides:
        if bundle is None:
            continue
        for file, places in _places(bundle, side, state.verdict).items():
            if text := bundle.files[file].text:
                yield excerpt(f"{name} · {file}", text, places)


def _places(
    bundle: Bundle, side: str, verdict: RubricVerdict | None
) -> dict[str, list[tuple[int, int]]]:
    found: dict[str, list[tuple[int, int]]] = {}
    for quote in verdict.quotes if verdict else ():
        if quote.side == side and quote.file in bundle.files:
            lines = quote.text.strip("\n").count("\n")
            found.setdefault(quote.file, []).append((quote.line, quote.line + lines))
    return found or {skill.path: [] for skill in bundle.skills}
