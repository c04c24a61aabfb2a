"""Attributes of tasks that a model judged: RQ4 groups by them."""

from skilljuror.models.record import Record


class AttributeQuestion(Record):
    """One attribute of a task."""

    question: str
    """What is asked."""
    values: dict[str, str]
    """Value -> what it means."""


class AttributeRubric(Record):
    """The packaged rubric of attributes."""

    format_version: int = 1
    """Version of this record."""
    version: int
    """Version of its words."""
    name: str
    """Name of the rubric."""
    about: str
    """What it is for."""
    attributes: dict[str, AttributeQuestion]
    """Name of an attribute -> what is asked."""


class JudgedAttribute(Record):
    """What a model answered about one attribute of one task; a line of task-attributes.jsonl."""

    format_version: int = 1
    """Version of this record."""
    task: str
    """Name of the task."""
    attribute: str
    """workflow_type or validation_type."""
    value: str | None
    """One of the values of the rubric; None where the answer is not proved."""
    reason: str | None = None
    """Why there is no value: unparsed, or quote_not_found; None for a value."""
    evidence: str = ""
    """One sentence."""
    file: str = ""
    """File of the task in which the quote stands."""
    line: int | None = None
    """1-based line at which it begins."""
    quote: str = ""
    """The passage that decides."""
    model: str
    """Model that answered."""
    prompt_sha256: str
    """sha256 of the messages."""
