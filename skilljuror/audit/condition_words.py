"""The words that say when a part of a Skill is needed: transforms/disclose-progressively/conditions.yaml."""

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import yaml

from skilljuror.base.files import data_dir
from skilljuror.base.skill import is_licence

WORDS_FILE = "disclose-progressively/conditions.yaml"


@lru_cache(maxsize=1)
def condition_words() -> Mapping[str, Any]:
    """Return the lists as patterns: one for each list; for the alternatives a table, kind -> pattern."""
    lists = yaml.safe_load((data_dir("transforms") / WORDS_FILE).read_bytes())
    return {
        name: {
            kind: re.compile(rf"^(?:{'|'.join(names)})(?![\w+#.])", re.IGNORECASE)
            for kind, names in found.items()
        }
        if isinstance(found, dict)
        else re.compile("|".join(f"(?:{one})" for one in found), re.IGNORECASE)
        for name, found in lists.items()
    }


def says(kind: str, text: str) -> bool:
    """Whether a text has words of a list."""
    return bool(condition_words()[kind].search(text))


def is_unread(path: str) -> bool:
    """Whether nobody reads a file to do a task, by its path inside the Skill's folder: its row would only cost
    tokens."""
    return is_licence(path) or says("unread_files", path)
