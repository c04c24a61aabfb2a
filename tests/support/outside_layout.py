"""A layout as another package would bring it."""

from typing import Any, ClassVar

from skilljuror.models.bundle import Bundle
from skilljuror.models.plan import Plan


class Copied:
    """The source as it is, under a name of its own."""

    variant: ClassVar[str] = "copied"
    parent: ClassVar[str] = "source"

    def plan(self, parent: Bundle, params: dict[str, Any]) -> Plan:
        """A plan of copies only."""
        return Plan(self.variant, self.parent, (), sidecars={path: path for path in parent.files})
