"""Builds in which a language model takes part: by choosing places, or by writing.

`assign`: the model says where each section goes, the renderer moves the text, and the variant is
proved and judged as any other. `rewrite`: the model writes the Markdown and the gates judge it; what
does not pass them goes back to it with their findings, for so many rounds.
Everything else of a build, its layout on disk included, is that of `build`.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple, cast, get_args

from msgspec import structs

from skilljuror.bundles import load_bundle
from skilljuror.errors import QuestionRefused, UnusableAnswer, UsageError
from skilljuror.files import write_jsonl
from skilljuror.gates.policies import worst
from skilljuror.gates.rubric.answers import CheckedAnswer
from skilljuror.gates.rubric.items import load_rubric
from skilljuror.llm import ModelAnswer, ModelChoice, ModelClient
from skilljuror.models.build import BuildRecord, VariantRound
from skilljuror.models.gate import SEVERITIES, Finding, GateResult
from skilljuror.models.measure import Price
from skilljuror.models.rubric import ItemAnswer
from skilljuror.models.study import AgentChoice
from skilljuror.pipeline.construction.agent_writer import AgentWriter
from skilljuror.pipeline.construction.audit import load_gates
from skilljuror.pipeline.construction.build import (
    DEFAULT_VARIANTS,
    BuildInProgress,
    make_build,
)
from skilljuror.pipeline.construction.build_folder import CALLS, ROUNDS, fresh_build, safe_target
from skilljuror.pipeline.construction.rubric_audit import answers_of
from skilljuror.prices import PRICES
from skilljuror.transforms.base import Transform
from skilljuror.transforms.llm.assign import AssignedDisclosure
from skilljuror.transforms.llm.prompts import Prompt, load_prompt
from skilljuror.transforms.llm.rewrite import Draft, Rewriter

Mode = Literal["assign", "rewrite"]
SKILLS: dict[str, dict[str, str]] = {
    "assign": {"pd": "assign-sections"},
    "rewrite": {"baseline": "flatten-to-baseline", "pd": "disclose-progressively"},
}
"""mode -> variant -> the transformation Skill that the model follows; others are made by plan."""
MOST_ROUNDS = 3
"""Texts that a model may write for one variant until one passes the gates."""
_SECRET = ("key", "secret", "password", "headers", "authorization")


class ModelEngine(NamedTuple):
    """How a model takes part in a build."""

    mode: Mode
    """What it does: assign places, or rewrite."""
    choice: ModelChoice
    """Which model, and how it is asked."""
    calls: Path
    """The log of model calls; it lies outside the build, survives one that fails, and lets the next go
    on without asking again."""
    rounds: int = MOST_ROUNDS
    """Texts that it may write for one variant."""
    via: AgentChoice | None = None
    """The agent that writes in place of a model that is asked directly."""
    rubric: str | None = None
    """The model that answers the rubric's items about a text that passes the gates; None: none does."""
    prices: tuple[Price, ...] = PRICES
    """What its tokens cost."""

    def client(self) -> ModelClient:
        """Who answers. Raises UsageError and HarnessError for an agent that cannot be run."""
        if self.via is None:
            return ModelClient(self.choice, self.calls, prices=self.prices)
        return AgentWriter(self.via, self.calls, SKILLS[self.mode].values())

    def rubric_client(self) -> ModelClient:
        """Who answers the items of the rubric: at the address of the writing model, where that is asked."""
        base = ModelChoice("") if self.via else self.choice
        return ModelClient(
            structs.replace(base, model=self.rubric or ""), self.calls, prices=self.prices
        )


class Rewriting(NamedTuple):
    """What only the engine rewrite takes; None where nothing is said."""

    rounds: int | None = None
    """Texts that a model may write for one variant."""
    via: str | None = None
    """The agent that writes."""
    rubric: str | None = None
    """The model that answers the rubric's items."""


DEFAULT_REWRITING = Rewriting()


def model_engine(
    engine: str,
    model: str | None,
    calls: Path,
    api_base: str | None = None,
    rewriting: Rewriting = DEFAULT_REWRITING,
) -> ModelEngine | None:
    """How a model takes part in a build, by the name of the engine; None for `plan`, which asks none.

    Raises UsageError for an unknown engine, and for a model that is missing or not asked.
    """
    modes = get_args(Mode)
    if engine not in ("plan", *modes):
        raise UsageError(
            f"unknown engine {engine!r}; choose one of plan, {', '.join(modes)}", field="engine"
        )
    for name, given in rewriting._asdict().items():
        if given is not None and engine != "rewrite":
            raise UsageError(
                f"the engine {engine!r} has no --{name}, only rewrite has: leave it out", field=name
            )
    if engine == "plan":
        if model or api_base:
            raise UsageError(
                "the engine 'plan' asks no model: leave it out, or choose the engine assign or rewrite"
                " (--engine, or build.engine in a study file)",
                field="model",
            )
        return None
    if not (model or rewriting.via):
        raise UsageError(
            f"the engine {engine!r} asks a model: name one (--model, or build.model in a study file),"
            " such as openai/gpt-5.4",
            field="model",
        )
    agent = None
    if rewriting.via:
        options = {"base_url": api_base} if api_base else {}
        agent = AgentChoice(name=rewriting.via, model=model, options=options)
    choice = ModelChoice(model or str(rewriting.via), api_base)
    most = rewriting.rounds or MOST_ROUNDS
    return ModelEngine(cast("Mode", engine), choice, calls, most, agent, rewriting.rubric)


def build_with_model(
    source: Path,
    target: Path,
    engine: ModelEngine,
    *,
    variants: Sequence[str] = DEFAULT_VARIANTS,
    options: dict[str, Any] | None = None,
    gates: Sequence[str] = (),
) -> BuildRecord:
    """Build `variants` of the bundle at `source` into the folder `target`, whole or not at all.

    `options` are those of the transforms that no model follows. `gates` judge the variants beside those
    of the registry; what a gate finds is in the verdicts, never
    raised. Raises BundleError, TransformError, UsageError for an unfit target and, when the model cannot be
    reached or gives no answer of the right form, ModelError.
    """
    _check_engine(engine, target)
    load_gates(gates)
    place = safe_target(target, source)
    bundle = load_bundle(source)
    client = engine.client()
    with fresh_build(place) as staging:
        gate = RubricGate(engine.rubric_client()) if engine.rubric else None
        maker = MakerWithModel(engine.mode, client, dict(options or {}), engine.rounds, gate)
        return make_build(bundle, staging, maker, variants, gates)


class RubricGate:
    """Puts the rubric's items about a text to a model, before a person sees it."""

    def __init__(self, client: ModelClient) -> None:
        self.client = client

    def judge(
        self, build: BuildInProgress, variant: str
    ) -> tuple[dict[str, ItemAnswer], tuple[Finding, ...]]:
        """Item -> answer, and a finding for each that is no; unknown is for a person."""
        items = load_rubric().items_of(variant)
        source, candidate = build.bundles["source"], build.bundles[variant]
        try:
            answers = answers_of(self.client, items, source, candidate)
        except UnusableAnswer:  # of a record that ends here, as the answers did
            return {item.id: "unknown" for item in items}, ()
        denied = [_denied(name, one) for name, one in answers.items() if one.answer == "no"]
        return {name: one.answer for name, one in answers.items()}, tuple(denied)


def _denied(item: str, answer: CheckedAnswer) -> Finding:
    quotes = {quote.side: quote for quote in answer.quotes}
    at = quotes.get("candidate") or quotes.get("source")
    return Finding(
        rule=f"rubric.{item}",
        severity="high",
        file=at.file if at else "",
        line=at.line if at else None,
        source_text=quotes["source"].text if "source" in quotes else None,
        variant_text=quotes["candidate"].text if "candidate" in quotes else None,
        message=answer.evidence,
    )


class MakerWithModel:
    """Makes the variants of one build, those of the mode through the model."""

    def __init__(
        self,
        mode: Mode,
        client: ModelClient,
        of_transforms: dict[str, Any],
        most_rounds: int,
        gate: RubricGate | None = None,
    ) -> None:
        self.name = mode
        self.client = client
        self.of_transforms = of_transforms
        self.most_rounds = most_rounds
        self.gate = gate
        self.prompts: dict[str, Prompt] = {}
        self.rounds: list[VariantRound] = []

    def make(self, build: BuildInProgress, transform: Transform) -> None:
        """Make one variant."""
        name, skill = transform.variant, SKILLS[self.name].get(transform.variant)
        if skill is None:
            build.add_planned(transform, self.of_transforms)
            return
        prompt = self.prompts[name] = load_prompt(skill)
        if self.name == "assign":
            build.add_planned(AssignedDisclosure(self.client, prompt), {})
        else:
            parent = build.bundles[transform.parent]
            self._write(build, transform, Rewriter(self.client, prompt, name, parent))

    def _write(self, build: BuildInProgress, transform: Transform, writer: Rewriter) -> None:
        """Take the first text that passes the gates, else the last one."""
        asked = len(self.client.answers)
        draft = writer.write()
        for number in range(1, self.most_rounds + 1):
            results = build.add_written(transform.variant, transform.parent, draft.files)
            verdict = worst(result.verdict for result in results)
            found, said = _counted(results), dict[str, ItemAnswer]()
            if self.gate and verdict == "pass":
                said, denied = self.gate.judge(build, transform.variant)
                found += denied
            row = VariantRound(
                variant=transform.variant,
                round=number,
                verdict=verdict,
                taken=True,
                tree_digest=build.bundles[transform.variant].digest,
                answers=tuple(one.prompt_sha256 for one in self.client.answers[asked:]),
                findings=found,
                rubric=said,
            )
            asked = len(self.client.answers)
            self.rounds.append(row)
            passes = verdict == "pass" and "no" not in said.values()
            if passes or number == self.most_rounds:
                return
            mended = _mended(writer, draft, row.findings)
            if mended is None:
                return
            draft = mended
            self.rounds[-1] = row.model_copy(update={"taken": False})
            build.set_aside(number)

    def options(self) -> dict[str, Any]:
        """What the record tells about the model: enough to repeat the build, no address, no key."""
        choice = self.client.choice
        return {
            "mode": self.name,
            "of_transforms": self.of_transforms,
            "model": choice.model,
            "params": without_secrets(choice.params),
            "prompts": {
                variant: {"skill": prompt.name, "sha256": prompt.sha256}
                for variant, prompt in sorted(self.prompts.items())
            },
            "calls": _usage_of(self._answers()),
            **({"rubric": self.gate.client.choice.model} if self.gate else {}),
            **(self._rounds() if self.name == "rewrite" else {}),
        }

    def _rounds(self) -> dict[str, Any]:
        """How many rounds were allowed, and the one that was taken for each variant: its last."""
        taken = {row.variant: row.round for row in self.rounds if row.taken}
        return {"rounds": {"most": self.most_rounds, "taken": taken}}

    def keep(self, folder: Path) -> None:
        """The answers, refused ones included, and what the gates said of each text."""
        write_jsonl(folder / CALLS, self._answers())
        if self.rounds:
            write_jsonl(folder / ROUNDS, self.rounds)

    def _answers(self) -> list[ModelAnswer]:
        """What was answered: by who wrote, then by who judged."""
        return [*self.client.answers, *(self.gate.client.answers if self.gate else ())]


def _mended(writer: Rewriter, draft: Draft, findings: Sequence[Finding]) -> Draft | None:
    """Another text; None where the model gives the same, or none that can be used, or its server does not
    take the question: then the one that there is stands."""
    try:
        mended = writer.mend(draft, findings)
    except (UnusableAnswer, QuestionRefused):
        return None
    return None if mended.files == draft.files else mended


def _counted(results: Sequence[GateResult]) -> tuple[Finding, ...]:
    """The findings that decide a verdict, worst first."""
    found = [
        one
        for result in results
        for one in result.findings
        if not (one.inherited or one.waived or one.severity == "info")
    ]
    return tuple(sorted(found, key=lambda one: SEVERITIES.index(one.severity)))


def without_secrets(params: dict[str, Any]) -> dict[str, Any]:
    """Parameters without those that may hold a secret."""
    return {
        name: value
        for name, value in sorted(params.items())
        if not any(word in name.lower() for word in _SECRET) and not name.endswith("_token")
    }


def _usage_of(answers: Sequence[ModelAnswer]) -> dict[str, Any]:
    """What the answers took: calls, tokens, US dollars; None where a single one is unknown."""
    return {
        "count": len(answers),
        "prompts_sha256": [answer.prompt_sha256 for answer in answers],
        "input_tokens": _sum_if_known([answer.prompt_tokens for answer in answers]),
        "output_tokens": _sum_if_known([answer.output_tokens for answer in answers]),
        "cost_usd": _sum_if_known([answer.cost_usd for answer in answers]),
    }


def _sum_if_known(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) if len(known) == len(values) else None


def _check_engine(engine: ModelEngine, target: Path) -> None:
    modes = get_args(Mode)
    if engine.mode not in modes:
        raise UsageError(f"unknown mode {engine.mode!r}; choose one of {', '.join(modes)}")
    if engine.calls.resolve().is_relative_to(target.resolve()):
        raise UsageError(
            f"the log of calls {str(engine.calls)!r} lies inside the build {str(target)!r}, which is"
            " replaced as a whole; put it beside"
        )
