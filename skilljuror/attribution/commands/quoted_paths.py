"""Paths quoted in code of other languages than Python, by the words before them."""

import re
from collections.abc import Mapping

from skilljuror.attribution.accesses.file_access import Access
from skilljuror.attribution.paths import expand_home, join

_MOST = 200_000
"""Characters of code that are read."""
_QUOTED_PATH = re.compile(r"""(['"`])([^'"`\n]{2,300})\1""")
_RUNS = re.compile(r"(?:exec(?:Sync|File|FileSync)?|spawn(?:Sync)?|system|shell_exec|popen|backtick)\s*\(\s*(?P<given>[^()]{0,24})$")  # fmt: skip
"""A program, or a whole command line, that code of another language runs."""
_LOADS = re.compile(r"(?:require|import|from|load|require_relative|source|use)\s*\(?\s*$")
_READING = r"(?:readFile(?:Sync)?|File\.read|open|slurp|file_get_contents|readLines|Bun\.file|readTextFile(?:Sync)?)"
_READS = re.compile(rf"{_READING}\s*\(?\s*$")
_READ_NAMES = re.compile(rf"{_READING}\s*\(\s*(\w{{1,60}})\b")
_NAMED = re.compile(r"\b(\w{1,60})\s*=\s*$")
_STARTERS = frozenset({"python", "python3", "node", "bash", "sh", "zsh", "ruby", "perl", "uv", "npx", "bun", "deno", "tsx"})  # fmt: skip
"""Programs that run the script that they are given."""
_ENV = re.compile(r"\$\{process\.env\.(?P<inside>\w{1,60})\}|process\.env\.(?P<alone>\w{1,60})")
_ADDED = re.compile(r"""(['"])\s*\+\s*\1""")
_GLUED = re.compile(
    r"""(?:(?:\w{1,60}|require\(['"][\w:]{1,60}['"]\))\.)?(?:join|resolve)\(\s*(['"])([^'"\n]{1,300})\1\s*,\s*(['"])([^'"\n]{1,300})\3\s*\)"""
)


def quoted_accesses(
    code: str, cwd: str | None, home: str | None, environment: Mapping[str, str] | None = None
) -> list[Access]:
    """What code in JavaScript and other languages reads, loads or runs by quoted paths."""
    found = []
    code = _written_out(code[:_MOST], environment or {})
    read = frozenset(_READ_NAMES.findall(code))
    for match in _QUOTED_PATH.finditer(code):
        if "/" not in match[2]:
            continue
        before = code[max(0, match.start() - 40) : match.start()]
        if _RUNS.search(before):
            found.extend(_child(match[2], cwd, home))
            continue
        path = join(cwd, expand_home(match[2], home))
        if _LOADS.search(before):
            found.append(Access(path, "import", via="shell", bundle_files_only=True))
        elif _READS.search(before) or _goes_into(before, read):
            found.append(Access(path, "read", via="shell", bundle_files_only=True))
    return found


def _written_out(code: str, environment: Mapping[str, str]) -> str:
    """Code with variables of the environment and paths in two pieces put in as plain texts."""

    def value(match: re.Match[str]) -> str:
        name = match["inside"] or match["alone"]
        known = environment.get(name, "")
        if not known or "'" in known or "\0" in known:
            return match[0]
        return known if match["inside"] else f"'{known}'"

    if environment and "process.env" in code:
        code = _ADDED.sub("", _ENV.sub(value, code).replace("' + \"", "' + '").replace('"', "'"))
    if "join(" in code or "resolve(" in code:
        code = _GLUED.sub(lambda match: f"'{match[2]}/{match[4]}'", code)
    return code


def _goes_into(before: str, read: frozenset[str]) -> bool:
    """Whether a path goes into a variable from which something is read: `p = '…'; read(p)`."""
    named = _NAMED.search(before) if read else None
    return named is not None and named[1] in read


def _child(line: str, cwd: str | None, home: str | None) -> list[Access]:
    """The script in a command line that code runs: `execSync('python3 a.py')`, `spawn('node', ['a.js'])`."""
    words = line.split()[:20]
    if len(words) > 1 and words[0].rpartition("/")[2] not in _STARTERS:
        words = words[:1]
    script = next((word for word in words if "/" in word and "." in word.rpartition("/")[2]), None)
    if script is None:
        return []
    return [
        Access(join(cwd, expand_home(script, home)), "exec", via="shell", bundle_files_only=True)
    ]
