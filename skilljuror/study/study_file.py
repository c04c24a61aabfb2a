"""Read study files and maps of an adoption strictly."""

import re
from collections.abc import Hashable
from difflib import get_close_matches
from pathlib import Path
from typing import Any, TypeVar

import yaml
from pydantic import ValidationError
from pydantic_core import ErrorDetails

from skilljuror.base.build import Record
from skilljuror.base.errors import StudyError
from skilljuror.base.study import (
    AdoptedCondition,
    AdoptionMap,
    AgentChoice,
    Budget,
    Condition,
    Contrast,
    Exclusion,
    ExclusionRules,
    HarnessChoice,
    SkillSource,
    StudyConfig,
    TaskEntry,
)

MAX_STUDY_BYTES = 1_000_000
MAX_YAML_DEPTH = 50
"""Levels of lists and mappings in a study file."""
_RECORDS: dict[type[Record], dict[str, type[Record]]] = {
    StudyConfig: {
        "tasks": TaskEntry,
        "conditions": Condition,
        "contrast": Contrast,
        "harness": HarnessChoice,
        "agent": AgentChoice,
        "exclude": Exclusion,
        "exclude_rules": ExclusionRules,
        "budget": Budget,
    },
    Condition: {"skill": SkillSource},
    AdoptionMap: {"tasks": TaskEntry, "conditions": AdoptedCondition, "contrast": Contrast},
}
"""Record -> its fields that are records."""

File = TypeVar("File", StudyConfig, AdoptionMap)

_NO_TEXT = re.compile("[\0\ud800-\udfff]")


class _StrictLoader(yaml.SafeLoader):
    """YAML without aliases, which can explode, without duplicate keys, and of limited depth."""

    depth = 0

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        if self.check_event(yaml.AliasEvent):
            mark = self.get_mark()
            raise yaml.MarkedYAMLError(
                None, None, "aliases are unsupported; write the value out", mark
            )
        if self.depth > MAX_YAML_DEPTH:
            raise yaml.MarkedYAMLError(
                None, None, f"nested deeper than {MAX_YAML_DEPTH} levels", self.get_mark()
            )
        self.depth += 1
        node = super().compose_node(parent, index)
        self.depth -= 1
        return node

    def construct_scalar(self, node: yaml.ScalarNode | yaml.MappingNode) -> Any:
        if isinstance(node, yaml.ScalarNode) and _NO_TEXT.search(node.value):
            problem = "invalid character (NUL or unpaired surrogate)"
            raise yaml.MarkedYAMLError(None, None, problem, node.start_mark)
        return super().construct_scalar(node)

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        seen: set[str] = set()
        for key, _ in node.value:
            if isinstance(key, yaml.ScalarNode) and key.value in seen:
                raise yaml.MarkedYAMLError(
                    None, None, f"duplicate key {key.value!r}", key.start_mark
                )
            if isinstance(key, yaml.ScalarNode):
                seen.add(key.value)
        return super().construct_mapping(node, deep)


def load_study(path: Path) -> StudyConfig:
    """Read a study file. Raises StudyError with file, field and fix."""
    return _validate(read_yaml(path, "study.yaml"), str(path), StudyConfig)


def load_adoption(path: Path) -> AdoptionMap:
    """Read the map of an adoption. Raises StudyError with file, field and fix."""
    return _validate(read_yaml(path, "map.yaml"), str(path), AdoptionMap)


def read_yaml(path: Path, usual: str) -> Any:
    """Read a YAML file; `usual` is its usual name, for the message if `path` is a folder. Raises
    StudyError with file and fix."""
    name = str(path)
    try:
        if path.stat().st_size > MAX_STUDY_BYTES:
            raise StudyError(f"{name}: larger than {MAX_STUDY_BYTES} bytes; is it a study file?")
        return yaml.load(path.read_text(encoding="utf-8"), Loader=_StrictLoader)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        inside = f", such as {path / usual}" if (path / usual).is_file() else ""
        raise StudyError(
            f"{name}: {reason}; name an existing study file{inside}", file=name
        ) from error
    except UnicodeDecodeError as error:
        raise StudyError(f"{name}: not UTF-8; save the study file as UTF-8", file=name) from error
    except (yaml.YAMLError, ValueError) as error:  # ValueError: an invalid date or number
        raise StudyError(f"{name}: invalid YAML: {_one_line(error)}", file=name) from error


def _one_line(error: yaml.YAMLError | ValueError) -> str:
    mark = getattr(error, "problem_mark", None)
    place = f", line {mark.line + 1}" if mark else ""
    problem = getattr(error, "problem", None) or str(error).splitlines()[0]
    return f"{problem}{place}"


def _validate(raw: Any, name: str, kind: type[File]) -> File:
    if not isinstance(raw, dict):
        what = "nothing: the file is empty" if raw is None else f"a {type(raw).__name__}"
        needed = [key for key, field in kind.model_fields.items() if field.is_required()]
        raise StudyError(
            f"{name}: must be a mapping with {', '.join(needed[:-1])} and {needed[-1]}, got {what}",
            file=name,
        )
    try:
        return kind.model_validate(raw)
    except ValidationError as error:
        problem = error.errors()[0]
        field = ".".join(str(part) for part in problem["loc"])
        raise StudyError(
            f"{name}: field {field!r}: {_explain(problem, kind)}",
            file=name,
            field=field,
        ) from error


def _explain(problem: ErrorDetails, record: type[Record]) -> str:
    """The problem of a field, and its fix."""
    kind, place, given = problem["type"], problem["loc"], problem["input"]
    if kind == "missing":
        return f"{problem['msg']}; add it"
    if kind == "extra_forbidden":
        return _unknown_field(str(place[-1]), place, record)
    if kind == "string_pattern_mismatch":
        return (
            f"invalid name {given!r}; use lower-case letters, digits, '-' and '_', beginning with a"
            " letter or digit"
        )
    if kind == "string_type":
        return f"{problem['msg']}, got {given!r}; write it in quotes"
    if kind == "tuple_type":
        return "must be a list: one '- ' for each entry"
    if place == ("format_version",):
        return f"unsupported version {given!r}; upgrade skilljuror, or use 1"
    return f"{problem['msg']}, got {str(given)[:60]!r}"


def _unknown_field(name: str, place: tuple[int | str, ...], record: type[Record]) -> str:
    for part in place[:-1]:
        record = record if isinstance(part, int) else _RECORDS[record][str(part)]
    near = get_close_matches(name, record.model_fields, n=1)
    guess = f"did you mean {near[0]!r}? " if near else ""
    return f"unknown; {guess}known fields: {', '.join(record.model_fields)}"
