"""The map of an adoption: which finished trials of Harbor belong to which arm of a study."""

from typing import Literal

from pydantic import Field

from skilljuror.base.models.harbor import REWARD
from skilljuror.base.models.record import Record
from skilljuror.base.models.study import Contrast, TaskEntry


class AdoptedCondition(Record):
    """One arm and its trials."""

    name: str = Field(pattern=r"^[a-z0-9][a-z0-9_-]*$")
    """Short name, used in trial names and tables."""
    variant: str | None = Field(default=None, pattern=r"^[a-z0-9][a-z0-9_-]*$")
    """Name of the variant the agent was given; null if no Skill was offered."""
    trials: str = Field(min_length=1)
    """Glob over the path of a trial's folder, job and all: "*-noskills-*"; * stands for / as well."""
    skills: str | None = None
    """Folder of the skill folders that were offered, relative to the map, {task} for the task's name;
    if missing, the contents of a Skill are taken from the logs."""


class AdoptionMap(Record):
    """map.yaml: how finished jobs become a study."""

    format_version: Literal[1] = 1
    """Version of the map."""
    name: str = Field(pattern=r"^[a-z0-9][a-z0-9_-]*$")
    """Short name of the study."""
    conditions: tuple[AdoptedCondition, ...] = Field(min_length=1)
    """The arms."""
    contrast: Contrast | None = None
    """Headline comparison; default: the last condition against the one before it."""
    reward: str = REWARD
    """Name of the reward that counts, where the verifier gave several: "overall"."""
    agent: str | None = None
    """The agent, as Harbor names it; required if the jobs ran several."""
    model: str | None = None
    """The model; required if the jobs ran several."""
    healthy_first: int | None = Field(default=None, ge=1)
    """As in a study file."""
    fewest_usable: int | None = Field(default=None, ge=2)
    """As in a study file."""
    tasks: tuple[TaskEntry, ...] = ()
    """Folders of tasks, relative to the map, for the attributes that RQ4 groups by."""
