"""Names of models, as plans and logs of several providers spell them."""

import re
from functools import lru_cache

_DATE = re.compile(r"[-@](\d{8}|\d{4}-\d{2}-\d{2})$")
_CLOUD = re.compile(r"^(?:[a-z]{2,6}\.)?anthropic\.|-v\d+(?::\d+)?$")


@lru_cache(maxsize=256)
def plain_model(model: str) -> str:
    """Return a name without provider, date and punctuation."""
    return _DATE.sub("", _without_provider(model)).replace(".", "-")


def model_date(model: str) -> str | None:
    """Return the date in a name, as YYYYMMDD."""
    found = _DATE.search(_without_provider(model))
    return found[1].replace("-", "") if found else None


def _without_provider(model: str) -> str:
    return _CLOUD.sub("", model.rpartition("/")[2].lower())
