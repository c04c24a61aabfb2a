"""What a gate is."""

from typing import ClassVar, Protocol

from skilljuror.models.bundle import Bundle
from skilljuror.models.gate import GateResult


class Gate(Protocol):
    """Judges a variant against its parent; what the parent already had is inherited."""

    name: ClassVar[str]
    """Name in the registry."""

    def check(self, parent: Bundle, variant: Bundle, kind: str, policy: str) -> GateResult:
        """The answer for one pair; `kind` is the layout the variant claims (baseline, pd, …),
        `policy` is "strict" (made by the plan engine) or "edited" (written by anybody)."""
        ...
