"""Recognise hand-written lines of a root that lead to a supporting file.

Progressive disclosure needs them, so layouts made elsewhere add some. Such a line may use any words, but
demand nothing that its file does not say.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import lru_cache

from skilljuror.knowledge.units.critical_tokens import critical_tokens
from skilljuror.models.bundle import Bundle
from skilljuror.models.knowledge import Unit

_KINDS = frozenset({"item", "statement", "row"})
_ORDER = frozenset({"cmp:before", "cmp:after"})
"""Comparators that every cue may use, because they refer to time."""


class RoutingLines:
    """The supporting files of a variant, and their critical tokens."""

    def __init__(self, variant: Bundle, variant_units: Iterable[Unit]) -> None:
        self._roots = {skill.path: skill.directory for skill in variant.skills}
        self._names = {
            path: tuple(self._called(path)) for path in variant.files if path not in self._roots
        }
        self._tokens: dict[str, set[str]] = defaultdict(set)
        for unit in variant_units:
            self._tokens[unit.file].update(unit.criticals)

    def _called(self, path: str) -> Iterator[str]:
        """Names of a file in a root: its path below the skill, and its own name."""
        folder = next(
            (folder for folder in self._roots.values() if path.startswith(f"{folder}/")), ""
        )
        yield path.removeprefix(f"{folder}/")
        yield path.rpartition("/")[2]

    def includes(self, unit: Unit) -> bool:
        """Whether a unit names a supporting file and demands nothing beyond it."""
        if unit.generated or unit.file not in self._roots or unit.kind not in _KINDS:
            return False
        named = [path for path, names in self._names.items() if _stand_in(names, unit.text)]
        if not named:
            return False
        text = unit.text
        for path in named:
            text = _pattern(self._names[path]).sub("", text)
        allowed = set().union(_ORDER, *(self._tokens[path] for path in named))
        return {t for t in critical_tokens(text) if t.partition(":")[2].strip("./")} <= allowed


def _stand_in(names: tuple[str, ...], text: str) -> bool:
    return any(name in text for name in names) and bool(_pattern(names).search(text))


@lru_cache(maxsize=512)
def _pattern(names: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile(rf"(?<![\w-])(?:{'|'.join(map(re.escape, names))})(?![\w-])")
