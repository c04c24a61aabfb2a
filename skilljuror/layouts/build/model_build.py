"""Build variants with a language model.

`assign`: the model judges which sections are main path, where no rule can tell; the plan engine does the
rest. `rewrite`: the model writes the Markdown and the gates judge it; a text that
fails goes back to the model with the findings, for a limited number of rounds.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple, cast, get_args

from msgspec import structs

from skilljuror.audit.audit import load_gates
from skilljuror.audit.gates.policies import policy as load_policy
from skilljuror.audit.gates.policies import worst
from skilljuror.base.build import SEVERITIES, BuildRecord, Finding, GateResult, VariantRound
from skilljuror.base.errors import QuestionRefused, UnusableAnswer, UsageError, require
from skilljuror.base.files import write_jsonl
from skilljuror.base.llm import ModelAnswer, ModelChoice, ModelClient
from skilljuror.base.results import Price
from skilljuror.base.review import RubricVerdict
from skilljuror.base.texts import PRICES
from skilljuror.layouts.base import Transform
from skilljuror.layouts.build.build import (
    DEFAULT_VARIANTS,
    BuildInProgress,
    PlanEngine,
    build_source,
    make_build,
    transforms_by_name,
)
from skilljuror.layouts.build.folder import CALLS, ROUNDS, RUBRIC, fresh_build, safe_target
from skilljuror.layouts.build.reviews import counting
from skilljuror.layouts.build.rubric_audit import judge_variant
from skilljuror.layouts.build.scopes import judge_scopes
from skilljuror.layouts.llm.prompts import Prompt, load_prompt
from skilljuror.layouts.llm.rewrite import Draft, Rewriter
from skilljuror.skill.bundles import load_bundle

Mode = Literal["assign", "rewrite"]
SKILLS = {"baseline": "flatten-to-baseline", "pd": "disclose-progressively"}
"""Variant -> transformation Skill with which a model writes it; other variants are made by plan."""
MOST_ROUNDS = 3
_SECRET = ("key", "secret", "password", "headers", "authorization")


class ModelEngine(NamedTuple):
    """Settings of a build with a model."""

    mode: Mode
    choice: ModelChoice  # the model and its parameters
    calls: Path  # log of model calls, outside the build: a failed build resumes from it
    rounds: int = MOST_ROUNDS  # limit of texts per variant
    rubric: str | None = None
    """The model that answers the rubric for texts that pass the gates; None for no rubric."""
    prices: tuple[Price, ...] = PRICES

    def client(self, model: str | None = None) -> ModelClient:
        """Return the client of the writing model, or of another one at its address."""
        choice = structs.replace(self.choice, model=model or self.choice.model)
        return ModelClient(choice, self.calls, prices=self.prices)


def model_engine(
    engine: str,
    model: str | None,
    calls: Path,
    api_base: str | None = None,
    rounds: int | None = None,
    rubric: str | None = None,
) -> ModelEngine | None:
    """Return the settings of an engine by name; None for `plan`, which uses no model.

    Raises UsageError for an unknown engine and for a missing or unused model; MissingDependency
    without the model library.
    """
    modes = get_args(Mode)
    if engine not in ("plan", *modes):
        raise UsageError(
            f"unknown engine {engine!r}; choose one of plan, {', '.join(modes)}", field="engine"
        )
    for name, given in (("rounds", rounds), ("rubric", rubric)):
        if given is not None and engine != "rewrite":
            raise UsageError(
                f"--{name} requires the engine rewrite, not {engine!r}; omit it", field=name
            )
    if engine == "plan":
        if model or api_base:
            raise UsageError(
                "the engine 'plan' uses no model: omit it, or choose the engine assign or rewrite"
                " (--engine, or build.engine in a study file)",
                field="model",
            )
        return None
    if not model:
        raise UsageError(
            f"the engine {engine!r} requires a model: name one (--model, or build.model in a study"
            " file), such as openai/gpt-5.4",
            field="model",
        )
    require("models", f"the engine {engine!r}")
    choice = ModelChoice(model, api_base)
    return ModelEngine(cast("Mode", engine), choice, calls, rounds or MOST_ROUNDS, rubric)


def build_with_model(
    source: Path,
    target: Path,
    engine: ModelEngine,
    *,
    variants: Sequence[str] = DEFAULT_VARIANTS,
    options: dict[str, Any] | None = None,
    gates: Sequence[str] = (),
) -> BuildRecord:
    """Build `variants` of the bundle at `source` into the folder `target`, atomically.

    `options` apply to transforms without a model. `gates` are judged in addition to the registered
    ones; findings are in the verdicts, never raised. Raises BundleError, TransformError, UsageError
    for an unsuitable target, and ModelError if the model is unreachable or its answer is invalid.
    """
    if engine.calls.resolve().is_relative_to(target.resolve()):
        raise UsageError(
            f"the call log {str(engine.calls)!r} is inside the build {str(target)!r}, which is replaced"
            " as a whole; name a path outside it"
        )
    load_gates(gates)
    place = safe_target(target, source)
    bundle = load_bundle(source)
    client = engine.client()
    if engine.mode == "assign":
        if "pd" in transforms_by_name(variants):
            judge_scopes(source, bundle, client)
        return build_source(
            source, target, variants=variants, options=options, gates=gates, engine="assign"
        )
    with fresh_build(place) as staging:
        gate = engine.client(engine.rubric) if engine.rubric else None
        maker = Writer(client, dict(options or {}), engine.rounds, gate)
        return make_build(bundle, staging, maker, variants, gates)


def _denied(answer: RubricVerdict) -> Finding:
    quotes = {quote.side: quote for quote in answer.quotes}
    at = quotes.get("candidate") or quotes.get("source")
    return Finding(
        rule=f"rubric.{answer.item}",
        severity="high",
        file=at.file if at else "",
        line=at.line if at else None,
        source_text=quotes["source"].text if "source" in quotes else None,
        variant_text=quotes["candidate"].text if "candidate" in quotes else None,
        message=answer.evidence,
    )


class Writer(PlanEngine):
    """Makes the variants of one build: `SKILLS` with the model, others by plan."""

    name = "rewrite"

    def __init__(
        self,
        client: ModelClient,
        of_transforms: dict[str, Any],
        most_rounds: int,
        judge: ModelClient | None = None,
    ) -> None:
        self.client = client
        self.of_transforms = of_transforms
        self.most_rounds = most_rounds
        self.judge = judge
        self.prompts: dict[str, Prompt] = {}
        self.rounds: list[VariantRound] = []
        self.rubric: list[RubricVerdict] = []  # verdicts on the accepted texts

    def make(self, build: BuildInProgress, transform: Transform) -> None:
        name, skill = transform.variant, SKILLS.get(transform.variant)
        if skill is None:
            build.add_planned(transform, self.of_transforms)
            return
        prompt = self.prompts[name] = load_prompt(skill)
        parent = build.bundles[transform.parent]
        self._write(build, transform, Rewriter(self.client, prompt, name, parent))

    def _write(self, build: BuildInProgress, transform: Transform, writer: Rewriter) -> None:
        """Accept the first text that passes, else the one with the fewest failing findings, then the
        fewest findings for a person, then the earliest."""
        variant, parent = transform.variant, transform.parent
        rounds = [self._judged(build, transform, writer.write(), 1)]
        while not rounds[-1].passes and len(rounds) < self.most_rounds:
            best = min(rounds, key=_rank)
            others = [(one.row.round, one.row.findings) for one in rounds if one is not best]
            draft = _revised(writer, best.draft, best.row.findings, others)
            if draft is None or any(draft.files == one.draft.files for one in rounds):
                break
            rounds.append(self._judged(build, transform, draft, len(rounds) + 1))
        best = min(rounds, key=_rank)
        build.take_draft(variant, parent, best.row.round, best.results)
        self.rubric += best.rubric
        self.rounds += [
            one.row.model_copy(update={"taken": True}) if one is best else one.row for one in rounds
        ]

    def _judged(
        self, build: BuildInProgress, transform: Transform, draft: Draft, number: int
    ) -> "_Round":
        results = build.judge_draft(transform.variant, transform.parent, draft.files, number)
        verdict = worst(result.verdict for result in results)
        rubric: tuple[RubricVerdict, ...] = ()
        if self.judge and verdict == "pass":
            source, written = build.bundles["source"], build.bundles[transform.variant]
            rubric = tuple(judge_variant(self.judge, transform.variant, source, written))
        denied = tuple(_denied(one) for one in rubric if one.answer == "no")
        row = VariantRound(
            variant=transform.variant,
            round=number,
            verdict=verdict,
            taken=False,
            tree_digest=build.bundles[transform.variant].digest,
            answers=draft.answers,
            findings=_counted(results) + denied,
            rubric={one.item: one.answer for one in rubric},
        )
        return _Round(row, draft, results, rubric)

    def options(self) -> dict[str, Any]:
        """Options for the record: enough to repeat the build, without address or key."""
        choice = self.client.choice
        taken = {row.variant: row.round for row in self.rounds if row.taken}
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
            **({"rubric": self.judge.choice.model} if self.judge else {}),
            "rounds": {"most": self.most_rounds, "taken": taken},
        }

    def save(self, folder: Path) -> None:
        """Write all answers, refused ones included, the rounds and the rubric verdicts."""
        write_jsonl(folder / CALLS, self._answers())
        if self.rounds:
            write_jsonl(folder / ROUNDS, self.rounds)
        if self.rubric:
            write_jsonl(folder / RUBRIC, self.rubric)

    def _answers(self) -> list[ModelAnswer]:
        return [*self.client.answers, *(self.judge.answers if self.judge else ())]


class _Round(NamedTuple):
    row: VariantRound
    draft: Draft
    results: list[GateResult]
    rubric: tuple[RubricVerdict, ...]

    @property
    def passes(self) -> bool:
        """The gates pass and no rubric item is denied."""
        return self.row.verdict == "pass" and "no" not in self.row.rubric.values()


def _rank(one: _Round) -> tuple[int, int]:
    """(failing findings, findings for a person); lower is better."""
    failing = sum(
        load_policy(result.policy).verdict([found], sum(result.checked.values())) == "fail"
        for result in one.results
        for found in counting(result.findings)
    )
    return max(failing, one.row.verdict == "fail"), len(one.row.findings) - failing


def _revised(
    writer: Rewriter,
    draft: Draft,
    findings: Sequence[Finding],
    others: Sequence[tuple[int, Sequence[Finding]]],
) -> Draft | None:
    """Ask for another text; None if the answer is unusable or the server refuses the question."""
    try:
        return writer.fix(draft, findings, others)
    except (UnusableAnswer, QuestionRefused):
        return None


def _counted(results: Sequence[GateResult]) -> tuple[Finding, ...]:
    found = [one for result in results for one in counting(result.findings)]
    return tuple(sorted(found, key=lambda one: SEVERITIES.index(one.severity)))


def without_secrets(params: dict[str, Any]) -> dict[str, Any]:
    """Drop parameters that may hold a secret."""
    return {
        name: value
        for name, value in sorted(params.items())
        if not any(word in name.lower() for word in _SECRET) and not name.endswith("_token")
    }


def _usage_of(answers: Sequence[ModelAnswer]) -> dict[str, Any]:
    """Total calls, tokens and US dollars; None for a total with an unknown part."""
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
