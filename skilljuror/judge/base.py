"""The interface of a judge."""

from collections.abc import Iterable
from typing import ClassVar, Protocol

from skilljuror.base.results import Verdict
from skilljuror.base.trajectory import ResourceEvent, SkillManifest, Trajectory


class Judge(Protocol):
    """Labels the resource events of one trajectory."""

    name: ClassVar[str]
    """Name and version, stored with every verdict."""

    def judge(
        self,
        trial: str,
        trajectory: Trajectory,
        events: tuple[ResourceEvent, ...],
        manifest: SkillManifest | None,
    ) -> Iterable[Verdict]:
        """Yield one verdict per counted event, in order."""
        ...
