"""Tasks that a study leaves out before it runs."""

from pydantic import Field

from skilljuror.base.models.build import PdWorth
from skilljuror.base.models.record import Record


class Exclusion(Record):
    """A task that a person excludes before the study."""

    task: str
    """Name of the task."""
    category: str = Field(min_length=1)
    """Category for counting, such as external credential."""
    reason: str = Field(min_length=1)
    """Reason in one sentence."""


class ExclusionRules(Record):
    """Rules that exclude tasks before the study, based on their builds."""

    max_tokens: int | None = Field(default=None, gt=0)
    """Exclude tasks for which a condition offers a Skill with more tokens than this."""
    pd_worth: PdWorth | None = None
    """Exclude tasks by `pd_worth` of the build: none, tasks whose `pd` has nothing to open on demand; small,
    those with little too."""
