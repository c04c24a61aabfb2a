"""All calls of language models: each question is logged, and paid once."""

from skilljuror.llm.answers import Message, ModelAnswer, ModelChoice
from skilljuror.llm.client import ModelClient, RecordedModel, parsed
from skilljuror.llm.concurrent import in_flight
from skilljuror.llm.foreign_text import as_data, data_in
from skilljuror.llm.spending import SpendingCap

__all__ = [
    "Message",
    "ModelAnswer",
    "ModelChoice",
    "ModelClient",
    "RecordedModel",
    "SpendingCap",
    "as_data",
    "data_in",
    "in_flight",
    "parsed",
]
