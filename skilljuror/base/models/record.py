"""The base of every stored record with a contract."""

from pydantic import BaseModel, ConfigDict


class Record(BaseModel):
    """Frozen, closed to unknown keys; the string under a field gives its meaning and unit."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)
