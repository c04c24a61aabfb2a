"""The ERU rubric: rules in words, what is too common to prove anything, boundary cases."""

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import yaml

from skilljuror.errors import JudgeError
from skilljuror.files import data_dir
from skilljuror.judge.features.commands import COMMAND_PREFIX
from skilljuror.judge.features.values import normalised_value
from skilljuror.judge.signals.cooccurrence import CooccurrenceRule
from skilljuror.judge.signals.restatement import stem


@dataclass(frozen=True)
class EruRubric:
    """The rules of rubrics/eru.yaml as the tracing judge needs them."""

    common: frozenset[str]
    """Tokens, in lower case, and values that everybody writes; "os." stands for every name below it."""
    generic: frozenset[str]
    """Stems that any report on a run holds: success, done, output."""
    cooccurrence: CooccurrenceRule
    """When values that stand together prove where they come from."""
    fields: CooccurrenceRule
    """When names of fields that stand together do."""


@lru_cache(maxsize=1)
def load_rubric() -> EruRubric:
    """The packaged rubric. Raises JudgeError when it is damaged."""
    path = data_dir("rubrics") / "eru.yaml"
    try:
        content = yaml.safe_load(path.read_bytes())
        common = frozenset(str(token).lower() for token in content["common"])
        generic = frozenset(stem(str(word).lower()) for word in content["generic"])
        cooccurrence = _cooccurrence_rule(content["together"])
        common |= cooccurrence.everyday
        common |= {COMMAND_PREFIX + str(name) for name in content["everyday_programs"]}
        return EruRubric(common, generic, cooccurrence, _cooccurrence_rule(content["fields"]))
    except (yaml.YAMLError, KeyError, TypeError, ValueError) as error:
        raise JudgeError(
            f"the rubric {path.name!r} cannot be read: {error!r}; reinstall skilljuror",
            file=str(path),
        ) from error


def _cooccurrence_rule(content: dict[str, Any]) -> CooccurrenceRule:
    return CooccurrenceRule(
        enough_bits=float(content["enough_bits"]),
        fewest_values=int(content["fewest_values"]),
        most_values=int(content["most_values"]),
        window=int(content["window"]),
        most_bits=float(content["most_bits_of_a_value"]),
        everyday=frozenset(normalised_value(str(value)) for value in content["everyday_values"]),
        everyday_bits=float(content["bits_of_an_everyday_value"]),
    )
