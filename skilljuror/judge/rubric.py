"""The ERU rubric: rules in words, what is too common to prove anything, boundary cases."""

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import yaml

from skilljuror.errors import JudgeError
from skilljuror.files import data_dir, sha256
from skilljuror.judge.features.values import spelled
from skilljuror.judge.signals.cooccurrence import TogetherRule
from skilljuror.judge.signals.restatement import stem


@dataclass(frozen=True)
class EruRubric:
    """rubrics/eru.yaml."""

    version: int
    """Version of the rules."""
    digest: str
    """sha256 of the file."""
    common: frozenset[str]
    """Tokens, in lower case, and values that everybody writes; "os." stands for what is below it."""
    generic: frozenset[str]
    """Stems that any report on a run holds: success, done, output."""
    together: TogetherRule
    """When values that stand together prove where they come from."""
    cases: tuple[dict[str, Any], ...]
    """Boundary cases: short runs with the verdicts they must get."""


@lru_cache(maxsize=1)
def load_eru() -> EruRubric:
    """The packaged rubric. Raises JudgeError when it is damaged."""
    path = data_dir("rubrics") / "eru.yaml"
    data = path.read_bytes()
    try:
        content = yaml.safe_load(data)
        common = frozenset(str(token).lower() for token in content["common"])
        generic = frozenset(stem(str(word).lower()) for word in content["generic"])
        together = _together(content["together"])
        cases = tuple(content["boundary_cases"])
        common |= together.everyday
        return EruRubric(int(content["version"]), sha256(data), common, generic, together, cases)
    except (yaml.YAMLError, KeyError, TypeError, ValueError) as error:
        raise JudgeError(
            f"the rubric {path.name!r} cannot be read: {error!r}; reinstall skilljuror",
            file=str(path),
        ) from error


def _together(content: dict[str, Any]) -> TogetherRule:
    return TogetherRule(
        enough=float(content["enough_bits"]),
        fewest=int(content["fewest_values"]),
        most=int(content["most_values"]),
        window=int(content["window"]),
        cap=float(content["most_bits_of_a_value"]),
        everyday=frozenset(spelled(str(value)) for value in content["everyday_values"]),
        everyday_bits=float(content["bits_of_an_everyday_value"]),
    )
