"""A rubric of a task: what a trial's work is judged by, item by item, beside or without a verifier."""

from typing import Any, Literal

from pydantic import Field, model_validator

from skilljuror.models.record import Record

RUBRIC_FILE = "rubric.json"
"""Its name in a task's tests/, which no agent's sandbox holds."""
MAX_ITEMS = 500


class JsonValue(Record):
    """A value in a JSON file."""

    path: str
    """Keys and 0-based numbers from the root, joined by dots."""
    equals: Any = None
    """The value; of numbers, up to `within`."""
    within: float = Field(default=0.0, ge=0, allow_inf_nan=False)
    """Largest difference that is accepted."""


class CodeCheck(Record):
    """A check by code: of one kept file, or of the trial's commands."""

    file: str | None = Field(default=None, min_length=1)
    """Path in the agent's working directory."""
    exists: bool | None = None
    """true: the file must exist; false: it must not, though the agent left others."""
    contains: str | None = Field(default=None, min_length=1)
    """Text that the file must contain."""
    absent: str | None = Field(default=None, min_length=1)
    """Text that the file must not contain; a file that does not exist does not pass."""
    regex: str | None = Field(default=None, min_length=1)
    """Regular expression that must match somewhere in the file."""
    value: JsonValue | None = None
    """Value that the file, JSON, must hold."""
    command: str | None = Field(default=None, min_length=1)
    """Regular expression of a command that the agent must have run, in place of a file."""
    used: bool = True
    """false: it must not have run it."""

    @model_validator(mode="after")
    def _one_kind(self) -> "CodeCheck":
        of_file = (self.exists, self.contains, self.absent, self.regex, self.value)
        kinds = sum(one is not None for one in of_file)
        if (self.command is None) == (self.file is None) or kinds != (self.file is not None):
            raise ValueError(
                "give `command`, or `file` with one of exists, contains, absent, regex, value"
            )
        return self


class TaskRubricItem(Record):
    """One item."""

    id: str = Field(min_length=1, max_length=100)
    """Name, unique in the rubric."""
    text: str = Field(min_length=1)
    """What the work must show, in one sentence that is true or false of it."""
    points: float = Field(default=1.0, gt=0, allow_inf_nan=False)
    """Its weight."""
    group: str = Field(default="goal", min_length=1, max_length=100)
    """goal: the task's own aim; following: what the Skill asks for; or a group of the author's."""
    check: CodeCheck | None = None
    """How code decides it; null: a model or a person does."""
    unit: str | None = None
    """Knowledge unit of the Skill that it comes from."""
    criterion: str | None = None
    """Criterion of the task that it stands for, such as AC-3."""


class TaskRubric(Record):
    """tests/rubric.json of a task, or a file given to `judge --rubric`."""

    format_version: Literal[1] = 1
    """Version of this file."""
    name: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]*$", max_length=100)
    """Name, the `source` of its rows in `check_results`."""
    items: tuple[TaskRubricItem, ...] = Field(min_length=1, max_length=MAX_ITEMS)
    """Its items."""

    @model_validator(mode="after")
    def _unique_ids(self) -> "TaskRubric":
        ids = [item.id for item in self.items]
        if again := next((name for name in ids if ids.count(name) > 1), None):
            raise ValueError(f"two items have the id {again!r}")
        return self
