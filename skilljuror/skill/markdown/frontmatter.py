"""The frontmatter of a SKILL.md."""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import yaml

MAX_FRONTMATTER = 32_768


class _Loader(yaml.SafeLoader):
    """YAML without aliases, which could expand a small file without bound."""

    def compose_node(self, parent: Any, index: Any) -> Any:
        if self.check_event(yaml.AliasEvent):
            raise yaml.YAMLError("aliases are not read in frontmatter")
        return super().compose_node(parent, index)


def frontmatter_end(lines: Sequence[str]) -> int:
    """Return the number of frontmatter lines, both `---` included; 0 if there are none."""
    if not lines or lines[0].rstrip() != "---":
        return 0
    for number, line in enumerate(lines[1:], start=2):
        if line.rstrip() == "---":
            return number
    return 0


def parse_frontmatter(lines: Sequence[str]) -> tuple[dict[str, Any], str | None]:
    """Return (fields, problem or None); never raises."""
    end = frontmatter_end(lines)
    if not end:
        return {}, "there is no frontmatter"
    source = "\n".join(lines[1 : end - 1])
    if len(source) > MAX_FRONTMATTER:
        return {}, f"the frontmatter is longer than {MAX_FRONTMATTER} characters"
    fields, problem = _parsed(source)
    return {**fields}, problem


@lru_cache(maxsize=256)
def _parsed(source: str) -> tuple[dict[str, Any], str | None]:
    try:
        fields = yaml.load(source, Loader=_Loader)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        return {}, "the frontmatter is not YAML: " + " ".join(str(error).split())
    if fields is None:
        return {}, "the frontmatter is empty"
    if not isinstance(fields, dict):
        return {}, "the frontmatter is not a mapping"
    return {str(key): value for key, value in fields.items()}, None


def plain_field(fields: dict[str, Any], name: str) -> str | None:
    """Return a field as one line of text; None if it is missing, empty or not a scalar."""
    value = fields.get(name)
    if value is None or isinstance(value, dict | list):
        return None
    return " ".join(str(value).split()) or None
