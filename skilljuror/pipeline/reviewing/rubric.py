"""Items of the rubric without a yes as questions: what was quoted, in its place, on both sides."""

from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from skilljuror.models.bundle import Bundle
from skilljuror.models.review import ADJUDICATIONS
from skilljuror.models.review_queue import ReviewItem, ReviewText
from skilljuror.models.rubric import ItemState, RubricVerdict
from skilljuror.pipeline.construction.reviews import reviewed
from skilljuror.pipeline.construction.waivers import store_for
from skilljuror.pipeline.reviewing.excerpts import excerpt
from skilljuror.pipeline.reviewing.findings import ASKED, BuildTexts
from skilljuror.pipeline.reviewing.question import Question

SUSPICION = {"no": 0.95, "unknown": 0.6}
"""How much an item needs a look, by its answer; where code and model differ it is between the two."""
DISAGREEMENT = 0.8


def rubric_questions(place: Path, builds: list[Path]) -> list[Question]:
    """One question for each item that was judged and is no yes; an item about the same texts, in whatever
    variant or build, is one question."""
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
        machine=_told(state),
        repeats=tuple(others),
    )
    return Question(item, seen, stores)


def _told(state: ItemState) -> str:
    verdict = state.verdict
    assert verdict is not None
    code = f"code: {state.code}; " if state.code else ""
    reason = f" ({verdict.reason})" if verdict.reason else ""
    return f"{code}{verdict.model}: {verdict.answer}{reason}: {verdict.evidence}"


def _texts(texts: BuildTexts, state: ItemState) -> Iterator[ReviewText]:
    """Both sides: the files that were quoted around their quotes, the roots where nothing was."""
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
