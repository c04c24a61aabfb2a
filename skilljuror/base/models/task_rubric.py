"""A rubric of a task: what a trial's work is judged by, item by item, beside or without a verifier."""

import posixpath
import re
import warnings
from typing import Any, Literal

from pydantic import Field, field_validator, model_validator

from skilljuror.base.models.record import Record

RUBRIC_FILE = "rubric.json"
"""Its name in a task's tests/, which no agent's sandbox holds."""
MAX_ITEMS = 500
MAX_BYTES = 1_000_000
"""Bytes of a rubric's file."""


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
    contains: str | None = Field(default=None, min_length=1, max_length=2000)
    """Text that the file must contain."""
    absent: str | None = Field(default=None, min_length=1, max_length=2000)
    """Text that the file must not contain; a file that does not exist does not pass."""
    regex: str | None = Field(default=None, min_length=1, max_length=2000)
    """Regular expression that must match somewhere in the file."""
    value: JsonValue | None = None
    """Value that the file, JSON, must hold."""
    command: str | None = Field(default=None, min_length=1, max_length=2000)
    """Regular expression of a command that the agent must have run, in place of a file."""
    used: bool = True
    """false: it must not have run it."""

    @field_validator("file")
    @classmethod
    def _inside(cls, file: str | None) -> str | None:
        file = file and posixpath.normpath(file)
        if file and (file.startswith("/") or file.split("/")[0] in {".", ".."}):
            raise ValueError("give the path of a file inside the working directory")
        return file

    @field_validator("regex", "command")
    @classmethod
    def _compiles(cls, pattern: str | None) -> str | None:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                re.compile(pattern or "")
        except (re.error, RecursionError, OverflowError) as error:
            raise ValueError(f"invalid regular expression: {error}") from error
        return pattern

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
    text: str = Field(min_length=1, max_length=2000)
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


class JudgedItem(Record):
    """What one judge said of one item for one trial; a line of judged-items.jsonl."""

    format_version: Literal[1] = 1
    """Version of this record."""
    trial: str
    """Name of the trial."""
    record: str
    """sha256 of the trial's record: the answer is stale once the trial is rerun."""
    rubric: str
    """Name of the rubric."""
    item: str
    """Id of the item."""
    text: str
    """The item."""
    points: float
    """Its weight."""
    group: str
    """Its group."""
    unit: str | None = None
    """Its knowledge unit."""
    criterion: str | None = None
    """Its criterion."""
    seen: str
    """sha256 of the item and of what is judged: a person's answer about another digest is stale."""
    judge: str | None = None
    """code, or the model; null if nobody was asked."""
    answer: Literal["yes", "no"] | None = None
    """Answer; null for none that counts."""
    reason: str = ""
    """Why there is no answer, or why it is no."""
    file: str = ""
    """What is quoted: a file of the work, commands, or last message."""
    line: int | None = None
    """1-based line at which the quote begins."""
    quote: str = ""
    """Quoted passage."""
