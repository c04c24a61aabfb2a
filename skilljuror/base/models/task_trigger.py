"""A task that is a trigger query: whether its prompt should make the agent open a Skill."""

from pydantic import Field, StrictBool

from skilljuror.base.models.record import Record

TRIGGER_FILE = "trigger.json"
"""Its name in a task's tests/, which no agent's sandbox holds."""


class TaskTrigger(Record):
    """tests/trigger.json of a task."""

    should_trigger: StrictBool
    """Whether an agent should open the Skill."""
    skill: str = Field(min_length=1)
    """Name of its folder, by which tables name a Skill."""

    @property
    def attributes(self) -> dict[str, str]:
        """The same as attributes of the task, which the question `activation` reads."""
        return {
            "should_trigger": "true" if self.should_trigger else "false",
            "trigger_skill": self.skill,
        }
