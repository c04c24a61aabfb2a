"""Task attributes judged by a model; RQ4 groups by them."""

from typing import Literal

from skilljuror.base.models.record import Record


class AttributeQuestion(Record):
    """One attribute of a task."""

    question: str
    """Question."""
    values: dict[str, str]
    """Value -> meaning."""


class AttributeRubric(Record):
    """The packaged rubric of attributes."""

    format_version: Literal[1] = 1
    """Version of this record."""
    version: int
    """Version of its wording."""
    name: str
    """Name of the rubric."""
    about: str
    """Purpose."""
    attributes: dict[str, AttributeQuestion]
    """Attribute -> question."""


class JudgedAttribute(Record):
    """A model's answer about one attribute of one task; a line of task-attributes.jsonl."""

    format_version: Literal[1] = 1
    """Version of this record."""
    task: str
    """Name of the task."""
    attribute: str
    """workflow_type or validation_type."""
    value: str | None
    """A value of the rubric; None if the answer has no valid quote."""
    reason: str | None = None
    """Why there is no value: unparsed, or quote_not_found; None for a value."""
    evidence: str = ""
    """One sentence."""
    file: str = ""
    """File of the task that contains the quote."""
    line: int | None = None
    """1-based line at which it begins."""
    quote: str = ""
    """Quoted passage."""
    model: str
    """Model that answered."""
    prompt_sha256: str
    """sha256 of the messages."""
