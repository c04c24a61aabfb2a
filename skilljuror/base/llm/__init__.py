"""All calls of language models: each question is logged, and paid once."""

from skilljuror.base.llm.answers import Message, ModelAnswer, ModelChoice
from skilljuror.base.llm.client import ModelClient, RecordedModel, parsed
from skilljuror.base.llm.concurrent import in_flight
from skilljuror.base.llm.foreign_text import as_data, data_in
from skilljuror.base.llm.spending import SpendingCap

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
