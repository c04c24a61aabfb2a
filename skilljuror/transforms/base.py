"""Base class of transforms."""

from typing import Any, ClassVar, Protocol

from skilljuror.models.bundle import Bundle
from skilljuror.models.plan import Plan


class Transform(Protocol):
    """A plugin that makes one layout from a parent bundle by moving text.

    A control, which omits knowledge on purpose, has two more class variables: `expected`, the rules that
    it is declared to break ("gate.*" for a whole gate), and `stands_for`, the layout it is judged as.
    """

    variant: ClassVar[str]
    parent: ClassVar[str]  # "source" or the name of a variant

    def plan(self, parent: Bundle, params: dict[str, Any]) -> Plan:
        """Return a plan for `parent`, deterministic to the byte. Raises TransformError."""
        ...
