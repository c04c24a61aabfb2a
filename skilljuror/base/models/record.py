"""The base of every stored record with a contract."""

from typing import Any, ClassVar

from pydantic import BaseModel, ConfigDict, SerializerFunctionWrapHandler, model_serializer


class Record(BaseModel):
    """Frozen, closed to unknown keys; the string under a field gives its meaning and unit."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)


class GrowingRecord(Record):
    """A record that omits later fields at their defaults, so that digests of older plans stay valid."""

    later: ClassVar[tuple[str, ...]] = ()
    """Fields added in later versions."""

    @model_serializer(mode="wrap")
    def _without_unasked(self, dump: SerializerFunctionWrapHandler) -> dict[str, Any]:
        fields: dict[str, Any] = dump(self)
        usual = type(self).model_fields
        unasked = {
            name
            for name in self.later
            if getattr(self, name) == usual[name].get_default(call_default_factory=True)
        }
        return {name: value for name, value in fields.items() if name not in unasked}
