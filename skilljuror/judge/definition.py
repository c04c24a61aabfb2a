"""The definition of uptake for the tracing judge, models and people (rubrics/eru.yaml)."""

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import yaml

from skilljuror.base.errors import JudgeError
from skilljuror.base.files import data_dir
from skilljuror.base.results import UptakeCategory


@dataclass(frozen=True)
class Definition:
    """The definition of uptake, and the prompt for a model."""

    question: str
    """The question about every access."""
    rules: tuple[str, ...]
    """Rules for the answer, one or a few sentences each."""
    prompt: str
    """System prompt for a model: the question, the rules and the form of an answer."""
    categories: frozenset[UptakeCategory]
    """The categories that a model may use."""


@lru_cache(maxsize=1)
def eru_content() -> dict[str, Any]:
    """Return the content of rubrics/eru.yaml. Raises JudgeError if it is invalid."""
    path = data_dir("rubrics") / "eru.yaml"
    try:
        content: dict[str, Any] = yaml.safe_load(path.read_bytes())
    except (OSError, yaml.YAMLError) as error:
        raise damaged(error) from error
    return content


@lru_cache(maxsize=1)
def load_definition() -> Definition:
    """Return the packaged definition. Raises JudgeError if it is invalid."""
    content = eru_content()
    try:
        question = str(content["question"]).strip()
        rules = tuple(str(rule["text"]).strip() for rule in content["definition"])
        named = {UptakeCategory(name) for name in content["model"]["unknown"]}
        categories = [one for one in UptakeCategory if one.label != "unknown" or one in named]
        return Definition(
            question, rules, _prompt(question, rules, content["model"], categories), frozenset(categories)
        )  # fmt: skip
    except (KeyError, TypeError, ValueError) as error:
        raise damaged(error) from error


def damaged(error: Exception) -> JudgeError:
    """Return the error for an invalid rubric."""
    path = data_dir("rubrics") / "eru.yaml"
    return JudgeError(
        f"rubric {path.name!r} is invalid: {error!r}; reinstall skilljuror", file=str(path)
    )


def _prompt(
    question: str, rules: tuple[str, ...], model: dict[str, Any], categories: list[UptakeCategory]
) -> str:
    notes = [f"- {' '.join(text.split())}" for text in (*rules, *model["notes"])]
    listed = [
        line
        for label in ("yes", "no", "unknown")
        for line in (
            f"  {label}",
            *(f"    {c}: {c.legend}" for c in categories if c.label == label),
        )
    ]
    return "\n".join([
        model["role"], f"    {question}", "", model["data"], "How to decide", *notes, "",
        "What to answer", model["answer"], "Categories", *listed,
    ])  # fmt: skip
