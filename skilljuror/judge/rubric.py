"""The ERU rubric as the tracing judge uses it."""

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from skilljuror.judge.definition import damaged, eru_content
from skilljuror.judge.features.commands import COMMAND_PREFIX
from skilljuror.judge.features.values import normalised_value
from skilljuror.judge.signals.cooccurrence import CooccurrenceRule
from skilljuror.judge.signals.restatement import stem


@dataclass(frozen=True)
class EruRubric:
    """The parameters of rubrics/eru.yaml for the tracing judge."""

    common: frozenset[str]
    """Lower-case tokens, and values, too common to prove anything; "os." includes all names below it."""
    generic: frozenset[str]
    """Stems of any report on a run: success, done, output."""
    cooccurrence: CooccurrenceRule
    """When values that occur together prove their origin."""
    fields: CooccurrenceRule
    """When names of fields that occur together do."""


@lru_cache(maxsize=1)
def load_rubric() -> EruRubric:
    """Load the packaged rubric. Raises JudgeError if it is invalid."""
    content = eru_content()
    try:
        common = frozenset(str(token).lower() for token in content["common"])
        generic = frozenset(stem(str(word).lower()) for word in content["generic"])
        cooccurrence = _cooccurrence_rule(content["together"])
        common |= cooccurrence.everyday
        common |= {COMMAND_PREFIX + str(name) for name in content["everyday_programs"]}
        return EruRubric(common, generic, cooccurrence, _cooccurrence_rule(content["fields"]))
    except (KeyError, TypeError, ValueError) as error:
        raise damaged(error) from error


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
