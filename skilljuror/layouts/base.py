"""Base class of transforms."""

from collections.abc import Mapping
from typing import Any, ClassVar, Protocol

from skilljuror.base.errors import TransformError
from skilljuror.base.skill import Bundle, Plan


class Transform(Protocol):
    """A plugin that makes one layout from a parent bundle by moving text.

    A control, which omits knowledge on purpose, has two more class variables: `expected`, the rules that
    it is declared to break ("gate.*" for a whole gate), and `stands_for`, the layout it is judged as.

    A transform that repeats text which others generated names these variants in `reads`. Its `plan` has a third
    argument, `plans`: the plan of its parent and of each of them.
    """

    variant: ClassVar[str]
    parent: ClassVar[str]  # "source" or the name of a variant

    def plan(self, parent: Bundle, params: dict[str, Any]) -> Plan:
        """Return a plan for `parent`, deterministic to the byte. Raises TransformError."""
        ...


def needed(transform: Transform) -> tuple[str, ...]:
    """Return the variants, or "source", that must be made before a transform's own."""
    return transform.parent, *getattr(transform, "reads", ())


def plan_of(
    transform: Transform, parent: Bundle, params: dict[str, Any], plans: Mapping[str, Plan | None]
) -> Plan:
    """Return the plan of a transform; `plans` are those of the variants made so far, None for text that a
    model wrote. Raises TransformError."""
    if not hasattr(transform, "reads"):
        return transform.plan(parent, params)
    known = {name: plan for name in needed(transform) if (plan := plans.get(name))}
    for name in needed(transform):
        if name not in known:
            raise TransformError(
                f"{transform.variant!r} repeats rows of {name!r}, which a model wrote as text; build it"
                " with the engine plan or assign"
            )
    more: dict[str, Any] = {"plans": known}
    return transform.plan(parent, params, **more)
