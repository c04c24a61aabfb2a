"""The interface of a gate."""

from typing import ClassVar, Protocol

from skilljuror.models.bundle import Bundle
from skilljuror.models.gate import GateResult


class Gate(Protocol):
    """Compare a variant with its parent; findings already present in the parent are inherited."""

    name: ClassVar[str]
    """Name in the registry."""

    def check(self, parent: Bundle, variant: Bundle, kind: str, policy: str) -> GateResult:
        """Judge one pair. `kind` is the layout that the variant claims (baseline, pd, …); `policy`
        is "strict" (for the plan engine's variants) or "edited" (for text by any author)."""
        ...
