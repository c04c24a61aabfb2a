"""Put the items of the rubric to a model, build by build, many side by side, each paid once."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

from skilljuror.bundles import load_bundle
from skilljuror.errors import QuestionRefused, StudyError
from skilljuror.files import StudyFolder, append_jsonl
from skilljuror.gates.rubric.answers import CheckedAnswer, GivenVerdicts, answers_all, checked
from skilljuror.gates.rubric.items import load_rubric
from skilljuror.gates.rubric.prompt import (
    MOST_CHARACTERS,
    messages,
    prompt_digest,
    rubric_digest,
)
from skilljuror.llm import Message, ModelChoice, ModelClient, in_flight
from skilljuror.models.build import BuildRecord, VariantManifest
from skilljuror.models.bundle import Bundle
from skilljuror.models.rubric import ItemState, RubricItem, RubricVerdict, UnknownReason
from skilljuror.pipeline.construction.build import load_build
from skilljuror.pipeline.construction.build_folder import RUBRIC, VARIANTS
from skilljuror.pipeline.construction.kept_source import kept_source
from skilljuror.pipeline.construction.reviews import reviewed
from skilljuror.pipeline.construction.rubric_states import is_about, rubric_verdicts
from skilljuror.pipeline.construction.stored_builds import builds_at, refresh_builds
from skilljuror.pipeline.model_calls import MOST_UNPARSED, THREADS, study_prices
from skilljuror.pipeline.workers import Progress


class BuildItem(NamedTuple):
    """How an item stands, and in which build."""

    build: str
    """Folder name of the build."""
    state: ItemState
    """How it stands."""


class RubricSummary(NamedTuple):
    """What a run over builds came to."""

    items: tuple[BuildItem, ...]
    """Every item of every build, those of earlier runs too."""
    judged: int
    """Items that a model was asked in this run."""
    spent_usd: float | None
    """Cost of this run's calls, US dollars; None where no model was asked or its price is not known."""

    @property
    def unparsed(self) -> int:
        """Items whose answer had no usable form."""
        return self._because("unparsed")

    @property
    def quotes_not_found(self) -> int:
        """Items that are unknown because a quote stands nowhere in the file that it names."""
        return self._because("quote_not_found")

    @property
    def answered(self) -> int:
        """Items that a model was asked, now or before."""
        return sum(one.state.verdict is not None for one in self.items)

    @property
    def too_many_unparsed(self) -> bool:
        """Whether more answers were of no usable form than a run may have."""
        return self.unparsed > MOST_UNPARSED * self.answered

    def _because(self, reason: str) -> int:
        return sum(
            one.state.verdict is not None and one.state.verdict.reason == reason
            for one in self.items
        )


def items_at(place: Path) -> list[BuildItem]:
    """How every item stands at a build, a folder of builds or a study. Raises StudyError for none."""
    return [
        BuildItem(build.resolve().name, state)
        for build in builds_at(place)
        for state in reviewed(build).items
    ]


def calls_beside(place: Path) -> Path:
    """The log of model calls for builds at a place: a study's own, else beside the folder."""
    folder = StudyFolder(place)
    place = place.resolve()
    return folder.calls if folder.planned else place.parent / f"{place.name}.calls.jsonl"


def client_for(
    place: Path, model: str, api_base: str | None = None, budget_usd: float | None = None
) -> ModelClient:
    """A client that logs beside the builds, by the prices of their study. Raises UsageError for a budget
    where the model's price is not known."""
    choice = ModelChoice(model, api_base)
    return ModelClient(choice, calls_beside(place), budget_usd, study_prices(place))


def judge_builds(
    place: Path,
    client: ModelClient,
    threads: int = THREADS,
    progress: Callable[[Progress], None] = lambda _: None,
) -> RubricSummary:
    """Ask the model for every item at a place that it has not answered about these very texts;
    once more where its answer had no usable form or its server did not take the question.

    Verdicts are added to `rubric.jsonl` of each build as they come. Raises StudyError where there is no
    build or one that keeps no source, ModelError when the model cannot be reached or the budget is spent:
    what was answered is kept.
    """
    builds = builds_at(place)
    judged = 0
    todo = [build for build in builds if _open_variants(build, client.choice.model)]
    ask = partial(_judge_build, client)
    for done, (build, verdicts) in enumerate(in_flight(todo, ask, threads), start=1):
        for verdict in verdicts:
            append_jsonl(build / RUBRIC, verdict)
        judged += len(verdicts)
        progress(Progress("rubric", done, len(todo), build.resolve().name))
    refresh_builds(todo)
    return RubricSummary(tuple(items_at(place)), judged, client.spent_usd if client.price else None)


def _open_variants(build: Path, model: str) -> list[VariantManifest]:
    """The variants of which this model has not answered every item."""
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
    """The verdicts on the open variants, one after the other: they share the source, which a provider
    has in its cache by then."""
    record = load_build(build)
    bundles = {
        entry.variant: load_bundle(build / VARIANTS / entry.variant, record.name, inspect=False)
        for entry in record.variants
    }
    source = kept_source(build, record, bundles)
    if source is None:
        raise StudyError(
            f"{str(build)!r} keeps no source to judge its variants against; build it again",
            file=str(build),
        )
    return [
        verdict
        for entry in _open_variants(build, client.choice.model)
        for verdict in _Question(record, entry, source, bundles[entry.variant]).put_to(client)
    ]


def answers_of(
    client: ModelClient, items: Sequence[RubricItem], source: Bundle, variant: Bundle
) -> dict[str, CheckedAnswer]:
    """Item -> what a model says of a variant, all in one question; unknown where that is too long, its
    server does not take it, or no answer has a usable form. Raises ModelError where there is none."""
    asked = messages(load_rubric(), items, source, variant)
    if sum(len(message["content"]) for message in asked) > MOST_CHARACTERS:
        return _all_unknown(items, "too_long", "")
    try:
        *_, last = client.attempts(GivenVerdicts, asked, answers_all(items))
    except QuestionRefused as error:
        return _all_unknown(items, "unparsed", error.message)
    if last.value is None or last.problem:
        return _all_unknown(items, "unparsed", last.problem)
    given = {one.item: one for one in last.value.verdicts}
    return {item.id: checked(given[item.id], item, source, variant) for item in items}


def _all_unknown(
    items: Sequence[RubricItem], reason: UnknownReason, why: str
) -> dict[str, CheckedAnswer]:
    return {item.id: CheckedAnswer("unknown", reason, why[:600], (), 0) for item in items}


class _Question:
    """All items of one variant in one question."""

    def __init__(
        self, record: BuildRecord, entry: VariantManifest, source: Bundle, variant: Bundle
    ) -> None:
        self.record, self.entry = record, entry
        self.source, self.variant = source, variant
        self.rubric = load_rubric()
        self.items: Sequence[RubricItem] = self.rubric.items_of(entry.variant)
        self.asked: list[Message] = messages(self.rubric, self.items, source, variant)

    def put_to(self, client: ModelClient) -> Iterator[RubricVerdict]:
        """One verdict for each item; unknown where the answer had no usable form."""
        answers = answers_of(client, self.items, self.source, self.variant)
        for item in self.items:
            yield self._verdict(client, item, answers[item.id])

    def _verdict(
        self, client: ModelClient, item: RubricItem, found: CheckedAnswer
    ) -> RubricVerdict:
        return RubricVerdict(
            variant=self.entry.variant,
            item=item.id,
            **found._asdict(),
            model=client.choice.model,
            prompt_sha256=prompt_digest(self.asked),
            rubric_digest=rubric_digest(self.rubric),
            source_digest=self.record.source.tree_digest,
            variant_digest=self.entry.tree_digest,
        )
