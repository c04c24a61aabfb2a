"""Whether the rubric's verdicts on record are about the texts on disk, and quote what stands there."""

from collections.abc import Iterator, Mapping
from pathlib import Path

from skilljuror.gates.rubric.answers import line_of
from skilljuror.gates.rubric.items import load_rubric
from skilljuror.gates.rubric.prompt import messages, prompt_digest, rubric_digest
from skilljuror.models.bundle import Bundle
from skilljuror.models.rubric import RubricQuote, RubricVerdict
from skilljuror.pipeline.construction.build_folder import RUBRIC
from skilljuror.pipeline.construction.rubric_states import rubric_verdicts


class RubricProof:
    """The verdicts of a build beside the bundles that they are about."""

    def __init__(self, build: Path, source: Bundle, variants: Mapping[str, Bundle]) -> None:
        self.source, self.variants = source, variants
        self.current: dict[str, list[RubricVerdict]] = {}
        self.stale: dict[str, list[RubricVerdict]] = {}
        for verdict in rubric_verdicts(build).values():
            group = self.current if self._is_current(verdict) else self.stale
            group.setdefault(verdict.variant, []).append(verdict)

    def _is_current(self, verdict: RubricVerdict) -> bool:
        variant = self.variants.get(verdict.variant)
        told = (verdict.rubric_digest, verdict.source_digest, verdict.variant_digest)
        return variant is not None and told == (
            rubric_digest(load_rubric()), self.source.digest, variant.digest
        )  # fmt: skip

    def problems(self) -> Iterator[str]:
        """Verdicts that are not what they say: of another question, or with a quote that is not there."""
        rubric = load_rubric()
        for name, verdicts in self.current.items():
            asked = messages(rubric, rubric.items_of(name), self.source, self.variants[name])
            digest = prompt_digest(asked)
            for one in verdicts:
                where = f"{RUBRIC}: {name}/{one.item}"
                if one.prompt_sha256 != digest:
                    yield f"{where}: is the answer to another question"
                yield from (
                    f"{where}: its quote does not stand at {quote.file}:{quote.line}"
                    for quote in one.quotes
                    if not self._stands(quote, self.variants[name])
                )

    def _stands(self, quote: RubricQuote, variant: Bundle) -> bool:
        side = self.source if quote.side == "source" else variant
        return line_of(quote.text, quote.file, side) == quote.line

    def unproved(self) -> Iterator[str]:
        """What was judged, and what is stale."""
        for name, verdicts in self.current.items():
            models = ", ".join(sorted({one.model for one in verdicts}))
            yield f"judged, not proved: {RUBRIC}: {name}: {len(verdicts)} items by {models}"
        for name, verdicts in self.stale.items():
            items = ", ".join(one.item for one in verdicts)
            yield (
                f"stale: {RUBRIC}: {name}: {items} are about other texts or another rubric; ask again"
                " with skilljuror rubric"
            )
