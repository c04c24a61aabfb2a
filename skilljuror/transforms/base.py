"""What a transform is."""

from typing import Any, ClassVar, Protocol

from skilljuror.models.bundle import Bundle
from skilljuror.models.plan import Plan


class Transform(Protocol):
    """Makes one layout out of a parent bundle, by moving text.

    A control, which leaves knowledge out on purpose, says so with two more class variables:
    `expected`, the rules that it is declared to break ("gate.*" for all of a gate), and
    `stands_for`, the layout that it is judged as.
    """

    variant: ClassVar[str]
    """Name of the variant it makes."""
    parent: ClassVar[str]
    """"source", or the variant it is made from."""

    def plan(self, parent: Bundle, params: dict[str, Any]) -> Plan:
        """The plan for `parent`; deterministic to the byte. Raises TransformError."""
        ...
