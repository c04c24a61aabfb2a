"""Variables of a shell: where a text sets them, where it uses them."""

import re
from functools import lru_cache

_SET = re.compile(
    r"^[ \t>]*(?:[$#] )?(?:export |declare |local |readonly )?([A-Za-z_]\w+)=(?=\S|$)"
    r"|\b(?:export|read(?: -r)?) ([A-Za-z_]\w+)|\bfor ([A-Za-z_]\w*) in\b",
    re.MULTILINE,
)
_USED = re.compile(r"(?<![\\$\w])\$(?:\{([A-Z][A-Z0-9_]+)(?=[}:#%/])|([A-Z][A-Z0-9_]+)\b)")
AMBIENT = frozenset({
    "ARGUMENTS", "HOME", "PATH", "PWD", "OLDPWD", "USER", "SHELL", "TMPDIR", "LANG", "TERM", "EDITOR",
    "HOSTNAME", "RANDOM", "IFS", "PYTHONPATH", "SHLVL", "UID", "COLUMNS", "LINES", "BASH_SOURCE",
    "PIPESTATUS", "SECONDS", "LINENO", "EUID", "REPLY", "XDG_CONFIG_HOME", "APPDATA", "USERPROFILE",
    "CLAUDE_PLUGIN_ROOT", "CLAUDE_PROJECT_DIR", "GITHUB_ENV", "GITHUB_OUTPUT", "GITHUB_TOKEN",
})  # fmt: skip
"""Names that the machine or the agent's harness sets."""


@lru_cache(maxsize=1 << 12)
def names_set(text: str) -> frozenset[str]:
    """Return the names that commands of a text set."""
    return frozenset(match[1] or match[2] or match[3] for match in _SET.finditer(text))


@lru_cache(maxsize=1 << 12)
def names_used(text: str) -> frozenset[str]:
    """Return the names in capitals that commands of a text use, without those that the machine sets."""
    return frozenset(match[1] or match[2] for match in _USED.finditer(text)) - AMBIENT
