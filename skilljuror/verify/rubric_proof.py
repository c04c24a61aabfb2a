"""Check that saved rubric verdicts match the texts on disk and quote them correctly."""

from collections.abc import Iterator, Mapping
from pathlib import Path

from skilljuror.build.folder import RUBRIC
from skilljuror.build.rubric_states import rubric_verdicts
from skilljuror.gates.rubric.answers import line_of
from skilljuror.gates.rubric.items import load_rubric
from skilljuror.gates.rubric.prompt import messages, prompt_digest, rubric_digest
from skilljuror.models.bundle import Bundle
from skilljuror.models.rubric import RubricQuote, RubricVerdict


class RubricProof:
    """The rubric verdicts of a build, compared with its bundles."""

    def __init__(self, build: Path, source: Bundle, variants: Mapping[str, Bundle]) -> None:
        self.source, self.variants = source, variants
        self.current: dict[str, list[RubricVerdict]] = {}
        self.stale: dict[str, list[RubricVerdict]] = {}
        for verdict in rubric_verdicts(build).values():
            group = self.current if self._is_current(verdict) else self.stale
            group.setdefault(verdict.variant, []).append(verdict)

    def _is_current(self, verdict: RubricVerdict) -> bool:
        variant = self.variants.get(verdict.variant)
        digests = (verdict.rubric_digest, verdict.source_digest, verdict.variant_digest)
        current = rubric_digest(load_rubric()), self.source.digest
        return variant is not None and digests == (*current, variant.digest)

    def problems(self) -> Iterator[str]:
        """Report verdicts on a different question or with a missing quote."""
        rubric = load_rubric()
        for name, verdicts in self.current.items():
            asked = messages(rubric, rubric.items_of(name), self.source, self.variants[name])
            digest = prompt_digest(asked)
            for one in verdicts:
                where = f"{RUBRIC}: {name}/{one.item}"
                if one.prompt_sha256 != digest:
                    yield f"{where}: answers a different question"
                yield from (
                    f"{where}: its quote is not at {quote.file}:{quote.line}"
                    for quote in one.quotes
                    if not self._is_at(quote, self.variants[name])
                )

    def _is_at(self, quote: RubricQuote, variant: Bundle) -> bool:
        side = self.source if quote.side == "source" else variant
        return line_of(quote.text, quote.file, side) == quote.line

    def unproved(self) -> Iterator[str]:
        """List judged and stale verdicts."""
        for name, verdicts in self.current.items():
            models = ", ".join(sorted({one.model for one in verdicts}))
            yield f"judged, not proved: {RUBRIC}: {name}: {len(verdicts)} items by {models}"
        for name, verdicts in self.stale.items():
            items = ", ".join(one.item for one in verdicts)
            yield (
                f"stale: {RUBRIC}: {name}: the texts or the rubric changed for {items}; rerun"
                " skilljuror rubric"
            )
