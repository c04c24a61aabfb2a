"""Builds in which a language model takes part: by choosing places, or by writing.

`assign`: the model says where each section goes, the renderer moves the text, and the variant is
proved and judged as any other. `rewrite`: the model writes the Markdown and the gates judge it.
Everything else of a build, its layout on disk included, is that of `build`.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args

from skilljuror.bundles import load_bundle
from skilljuror.errors import UsageError
from skilljuror.files import fresh_dir, write_jsonl
from skilljuror.llm import ModelAnswer, ModelChoice, ModelClient
from skilljuror.models.build import BuildRecord
from skilljuror.pipeline.construction.audit import load_gates
from skilljuror.pipeline.construction.build import (
    DEFAULT_VARIANTS,
    BuildInProgress,
    transforms_in_order,
)
from skilljuror.pipeline.construction.build_folder import safe_target
from skilljuror.transforms.base import Transform
from skilljuror.transforms.llm.assign import AssignedDisclosure
from skilljuror.transforms.llm.prompts import Prompt, load_prompt
from skilljuror.transforms.llm.rewrite import Rewriter

Mode = Literal["assign", "rewrite"]
SKILLS: dict[str, dict[str, str]] = {
    "assign": {"pd": "assign-sections"},
    "rewrite": {"baseline": "flatten-to-baseline", "pd": "disclose-progressively"},
}
"""mode -> variant -> the transformation Skill that the model follows; others are made by plan."""
CALLS = "calls.jsonl"
"""The answers a build rests on, kept beside its record."""
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


def build_with_model(
    source: Path,
    target: Path,
    engine: ModelEngine,
    *,
    variants: Sequence[str] = DEFAULT_VARIANTS,
    gates: Sequence[str] = (),
) -> BuildRecord:
    """Build `variants` of the bundle at `source` into the folder `target`, whole or not at all.

    `gates` judge the variants beside those of the registry; what a gate finds is in the verdicts, never
    raised. Raises BundleError, TransformError, UsageError for an unfit target and, when the model cannot be
    reached or gives no answer of the right form, ModelError.
    """
    _check_engine(engine, target)
    load_gates(gates)
    place = safe_target(target, source)
    bundle = load_bundle(source)
    client = ModelClient(engine.choice, engine.calls)
    with fresh_dir(place) as staging:
        build = BuildInProgress(bundle, staging, gates)
        variant_maker = _VariantMaker(engine.mode, client)
        for transform in transforms_in_order(variants):
            variant_maker.make(build, transform)
        write_jsonl(staging / CALLS, client.answers)
        return build.finish(engine.mode, variant_maker.options())


class _VariantMaker:
    """Makes the variants of one build, those of the mode through the model."""

    def __init__(self, mode: Mode, client: ModelClient) -> None:
        self.mode = mode
        self.client = client
        self.prompts: dict[str, Prompt] = {}

    def make(self, build: BuildInProgress, transform: Transform) -> None:
        """Make one variant."""
        name, skill = transform.variant, SKILLS[self.mode].get(transform.variant)
        if skill is None:
            build.add_planned(transform, {})
            return
        prompt = self.prompts[name] = load_prompt(skill)
        if self.mode == "assign":
            build.add_planned(AssignedDisclosure(self.client, prompt), {})
        else:
            written = Rewriter(self.client, prompt, name).files(build.bundles[transform.parent])
            build.add_written(name, transform.parent, written)

    def options(self) -> dict[str, Any]:
        """What the record tells about the model: enough to repeat the build, no address, no key."""
        choice = self.client.choice
        return {
            "mode": self.mode,
            "model": choice.model,
            "params": without_secrets(choice.params),
            "prompts": {
                variant: {"skill": prompt.name, "sha256": prompt.sha256}
                for variant, prompt in sorted(self.prompts.items())
            },
            "calls": _usage_of(self.client.answers),
        }


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
        "input_tokens": _sum_if_known([answer.input_tokens for answer in answers]),
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
