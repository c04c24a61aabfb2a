"""Ask a model the items of the rubric for many builds in parallel, each item once."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

from skilljuror.audit.gates.rubric import (
    MOST_CHARACTERS,
    CheckedAnswer,
    GivenVerdicts,
    answers_all,
    checked,
    load_rubric,
    messages,
    prompt_digest,
    rubric_digest,
)
from skilljuror.base.build import VariantManifest
from skilljuror.base.errors import QuestionRefused, UnusableAnswer, require
from skilljuror.base.files import StudyFolder, append_jsonl, read_rows
from skilljuror.base.llm import (
    MOST_UNPARSED,
    THREADS,
    ModelAnswer,
    ModelChoice,
    ModelClient,
    RecordedModel,
    SpendingCap,
    in_flight,
    study_prices,
)
from skilljuror.base.review import ItemState, RubricItem, RubricVerdict, UnknownReason
from skilljuror.base.skill import Bundle
from skilljuror.base.workers import Progress
from skilljuror.layouts.build.build import load_build
from skilljuror.layouts.build.folder import RUBRIC, VARIANTS, builds_at, saved_source
from skilljuror.layouts.build.reviews import is_about, reviewed, rubric_verdicts
from skilljuror.skill.bundles import load_bundle


class BuildItem(NamedTuple):
    """State of a rubric item in a build."""

    build: str  # folder name of the build
    state: ItemState


class RubricSummary(NamedTuple):
    """Result of a rubric run over builds."""

    items: tuple[BuildItem, ...]  # every item of every build, including earlier runs
    judged: int  # items asked in this run
    spent_usd: float | None
    """Cost of this run in US dollars; None if no model was asked or its price is unknown."""

    @property
    def unparsed(self) -> int:
        """Items with an invalid answer."""
        return self._because("unparsed")

    @property
    def quotes_not_found(self) -> int:
        """Items that are unknown because a quote is not in its file."""
        return self._because("quote_not_found")

    @property
    def answered(self) -> int:
        """Items that a model was asked in any run."""
        return sum(one.state.verdict is not None for one in self.items)

    @property
    def too_many_unparsed(self) -> bool:
        """The share of invalid answers exceeds `MOST_UNPARSED`."""
        return self.unparsed > MOST_UNPARSED * self.answered

    def _because(self, reason: str) -> int:
        return sum(
            one.state.verdict is not None and one.state.verdict.reason == reason
            for one in self.items
        )


def items_at(place: Path) -> list[BuildItem]:
    """List the items of a build, a folder of builds or a study. Raises StudyError for no build."""
    return [
        BuildItem(build.resolve().name, state)
        for build in builds_at(place)
        for state in reviewed(build).items
    ]


def calls_beside(place: Path) -> Path:
    """Return the call log for builds at a place: the study's, else next to the folder."""
    folder = StudyFolder(place)
    place = place.resolve()
    return folder.calls if folder.planned else place.parent / f"{place.name}.calls.jsonl"


def client_for(
    place: Path, model: str, api_base: str | None = None, budget_usd: float | None = None
) -> ModelClient:
    """Return a client that logs next to the builds and uses their study's prices. Raises UsageError for
    a budget without a known price, MissingDependency without the model library."""
    require("models", "'rubric --model'")
    choice = ModelChoice(model, api_base)
    return ModelClient(choice, calls_beside(place), budget_usd, study_prices(place))


def judge_builds(
    place: Path,
    client: ModelClient,
    threads: int = THREADS,
    progress: Callable[[Progress], None] = lambda _: None,
) -> RubricSummary:
    """Ask the model every item at a place that it has not answered about the current texts, and retry
    invalid answers and refused questions.

    Verdicts are appended to each build's `rubric.jsonl` at once. Raises StudyError for no build or one
    without a source, ModelError if the model is unreachable or the budget spent; rerun to resume.
    """
    builds = builds_at(place)
    if client.cap:
        _count_earlier_answers(client, client.cap, builds)
    judged = 0
    todo = [build for build in builds if _open_variants(build, client.choice.model)]
    ask = partial(_judge_build, client)
    for done, (build, verdicts) in enumerate(in_flight(todo, ask, threads), start=1):
        for verdict in verdicts:
            append_jsonl(build / RUBRIC, verdict)
        judged += len(verdicts)
        progress(Progress("rubric", done, len(todo), build.resolve().name))
    return RubricSummary(tuple(items_at(place)), judged, client.spent_usd if client.price else None)


def _open_variants(build: Path, model: str) -> list[VariantManifest]:
    record, given = load_build(build), rubric_verdicts(build)
    return [
        entry
        for entry in record.variants
        for verdicts in [
            [given.get((entry.variant, item.id)) for item in load_rubric().items_of(entry.variant)]
        ]
        if any(
            one is None
            or one.model != model
            or one.reason == "unparsed"
            or not is_about(one, record, entry)
            for one in verdicts
        )
    ]


def _judge_build(client: ModelClient, build: Path) -> list[RubricVerdict]:
    """Judge the open variants in sequence, so that the provider can cache the shared source."""
    return [
        verdict
        for entry in _open_variants(build, client.choice.model)
        for verdict in judge_variant(client, entry.variant, *_texts(build, entry.variant))
    ]


def _texts(build: Path, variant: str) -> tuple[Bundle, Bundle]:
    """Source and variant."""
    record = load_build(build)
    candidate = load_bundle(build / VARIANTS / variant, record.name, inspect=False)
    return saved_source(build, record), candidate


def _count_earlier_answers(client: ModelClient, cap: SpendingCap, builds: Sequence[Path]) -> None:
    """Count what earlier starts paid for variants that are not asked again, retries included."""
    answers = list(read_rows(ModelAnswer, client.calls, skip_damaged=True)) if client.calls else []
    own = [one for one in answers if one.model == client.choice.model]
    for build in builds if own else ():
        asked = {entry.variant for entry in _open_variants(build, client.choice.model)}
        for entry in load_build(build).variants:
            if entry.variant in asked:
                continue
            replay = RecordedModel(client.choice, own)
            source, variant = _texts(build, entry.variant)
            answers_of(replay, load_rubric().items_of(entry.variant), source, variant)
            for answer in replay.answers:
                cap.count(answer.cost_usd or 0.0)


def answers_of(
    client: ModelClient, items: Sequence[RubricItem], source: Bundle, variant: Bundle
) -> dict[str, CheckedAnswer]:
    """Ask all items in one question; item -> answer. Items are unknown if the question is too long or
    refused, or the answer invalid. Raises ModelError without an answer."""
    asked = messages(load_rubric(), items, source, variant)
    if sum(len(message["content"]) for message in asked) > MOST_CHARACTERS:
        return _all_unknown(items, "too_long", "")
    last = None
    try:
        for attempt in client.attempts(GivenVerdicts, asked, answers_all(items)):
            last = attempt
    except QuestionRefused as error:
        return _all_unknown(items, "unparsed", error.message)
    except UnusableAnswer:
        pass  # the recorded answers of a replay end here
    if last is None or last.value is None or last.problem:
        return _all_unknown(items, "unparsed", last.problem if last else "")
    given = {one.item: one for one in last.value.verdicts}
    return {item.id: checked(given[item.id], item, source, variant) for item in items}


def _all_unknown(
    items: Sequence[RubricItem], reason: UnknownReason, why: str
) -> dict[str, CheckedAnswer]:
    return {item.id: CheckedAnswer("unknown", reason, why[:600], (), 0) for item in items}


def judge_variant(
    client: ModelClient, name: str, source: Bundle, variant: Bundle
) -> Iterator[RubricVerdict]:
    """Ask all items of one variant in one question; yield one verdict per item, unknown if the answer was invalid."""
    rubric = load_rubric()
    items = rubric.items_of(name)
    answers = answers_of(client, items, source, variant)
    about = {
        "model": client.choice.model,
        "prompt_sha256": prompt_digest(messages(rubric, items, source, variant)),
        "rubric_digest": rubric_digest(rubric),
        "source_digest": source.digest,
        "variant_digest": variant.digest,
    }
    for item in items:
        yield RubricVerdict(variant=name, item=item.id, **answers[item.id]._asdict(), **about)
