"""origin: the source unchanged."""

from typing import Any, ClassVar

from skilljuror.models.bundle import Bundle
from skilljuror.models.plan import Plan


class Origin:
    """Every file byte for byte at its own path."""

    variant: ClassVar[str] = "origin"
    parent: ClassVar[str] = "source"

    def plan(self, parent: Bundle, params: dict[str, Any]) -> Plan:
        return Plan(self.variant, self.parent, (), sidecars={path: path for path in parent.files})
