"""What a variant may not add: hidden text, dangerous commands, secrets, wider permissions."""

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from pathlib import PurePosixPath
from typing import ClassVar

from skilljuror.gates.findings import Fact, answer, finding, kept
from skilljuror.knowledge.frontmatter import parse_frontmatter
from skilljuror.models.bundle import Blob, Bundle
from skilljuror.models.gate import Finding, GateResult

_SHOWN = 120
_PATTERNS = {
    "security.remote-shell": re.compile(
        r"(?:curl|wget|irm|iwr|Invoke-WebRequest)\b[^\n|]{0,200}\|\s*(?:sudo\s+)?(?:ba|z|da)?sh\b"
        r"|(?:ba|z)?sh\s+<\(\s*(?:curl|wget)\b[^\n)]{0,200}|\biex\b\s*\(?\s*(?:irm|iwr)\b[^\n]{0,80}"
    ),
    "security.destructive": re.compile(
        r"\brm\s+-[a-zA-Z]*[rf][a-zA-Z]*\s+\S{1,80}|\bsudo\s+\S{1,40}|\bmkfs\S{0,20}"
        r"|\bdd\s+[^\n]{0,60}of=/dev/\S{1,20}|\bchmod\s+(?:-R\s+)?0?777\b|\bshutil\.rmtree\([^\n)]{0,60}"
    ),
    "security.override": re.compile(
        r"\b(?:ignore|disregard|forget)\s+(?:all\s+|any\s+)?(?:previous|prior|above|earlier|other)"
        r"\s+(?:instructions?|rules?|prompts?)|\b(?:reveal|print|show)\s+(?:your|the)\s+system\s+prompt"
        r"|\bdo\s+not\s+(?:tell|inform|mention\s+(?:this|it)\s+to)\s+the\s+user",
        re.IGNORECASE,
    ),
    "security.secret": re.compile(
        r"\bAKIA[0-9A-Z]{16}\b|\bgh[pousr]_[A-Za-z0-9]{36}\b|\bsk-[A-Za-z0-9_-]{20,100}"
        r"|\bxox[abprs]-[A-Za-z0-9-]{10,80}|\bAIza[0-9A-Za-z_-]{35}|-----BEGIN [A-Z ]{0,20}PRIVATE KEY"
        r"|\b[A-Za-z0-9+/]{200,400}={0,2}"
    ),
    "security.grader": re.compile(
        r"\btest_outputs?\.py\b|\breward\.(?:txt|json)\b|/logs/verifier\b|\b(?:hidden|secret) tests?\b"
        r"|\b(?:the )?(?:grader|verifier|autograder)\b",
        re.IGNORECASE,
    ),
    "security.hidden-text": re.compile(r"<!--(?:(?:[^-]|-(?!->)){0,300}(?=-->)|[^\n]{0,300})"),
    "security.invisible": re.compile(
        "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\u00ad\u200b\u200c\u200e\u200f\u202a-\u202e"
        "\u2060-\u2064\u2066-\u2069\ufeff\U000e0000-\U000e007f]"
    ),
    "security.host": re.compile(r"\bhttps?://([A-Za-z0-9.-]{1,200})"),
}
_LONG_KEY = 200
"""Characters without a blank from which a text may hold a key."""
_NEEDLES = {
    "security.remote-shell": ("curl", "wget", "irm", "iwr", "invoke-webrequest"),
    "security.destructive": ("rm ", "rm\t", "rm\n", "sudo", "mkfs", "of=/dev", "chmod", "rmtree"),
    "security.override": ("instruction", "rule", "prompt", "user"),
    "security.secret": (
        "akia",
        "ghp_",
        "gho_",
        "ghu_",
        "ghs_",
        "ghr_",
        "sk-",
        "xox",
        "aiza",
        "-----begin",
    ),
    "security.grader": ("test_output", "reward.", "den test", "ret test", "grader", "verifier"),
    "security.hidden-text": ("<!--",),
    "security.host": ("://",),
}
"""Of the words that a pattern asks for, one has to stand in the text, in lower case."""
_SECRET_FILES = frozenset({
    ".env", ".npmrc", ".pypirc", ".netrc", ".mcp.json", ".git-credentials", "id_rsa", ".bashrc",
})  # fmt: skip
_AGENT_FOLDERS = frozenset({
    ".claude",
    ".codex",
    ".gemini",
    ".cursor",
    ".vscode",
    ".github",
    ".ssh",
})
_PROGRAMS = (b"\x7fELF", b"MZ", b"\xcf\xfa\xed\xfe", b"\xca\xfe\xba\xbe")


class Security:
    """A skill is instructions by design, so only what the parent does not have is held against
    the variant, and nothing is ever cleaned. (transforms §6)"""

    name: ClassVar[str] = "security"

    def check(self, parent: Bundle, variant: Bundle, kind: str, policy: str) -> GateResult:
        """The answer for one pair."""
        known = {(fact.rule, fact.key) for fact in _facts(parent)}
        findings = [_judged(fact, known) for fact in _facts(variant)]
        return answer(self.name, (parent, variant), policy, findings, {"path": len(variant.files)})


def _judged(fact: Fact, known: set[tuple[str, object]]) -> Finding:
    return finding(fact, inherited=(fact.rule, fact.key) in known)


@kept
def _facts(bundle: Bundle) -> Iterator[Fact]:
    seen: set[tuple[str, object]] = set()
    for fact in (*_in_texts(bundle), *_in_paths(bundle), *_permissions(bundle)):
        if (fact.rule, fact.key) not in seen:
            seen.add((fact.rule, fact.key))
            yield fact


def _in_texts(bundle: Bundle) -> Iterator[Fact]:
    for path, blob in bundle.files.items():
        for rule, line, shown in _scanned(blob):
            yield Fact(rule, " ".join(shown.split()) or shown, path, line, shown)


@lru_cache(maxsize=1024)
def _scanned(blob: Blob) -> tuple[tuple[str, int, str], ...]:
    """(rule, line, what stands there) of one file; kept, for a variant shares most files."""
    text = blob.text or ""
    lowered = text.lower()
    found = []
    for rule, pattern in _PATTERNS.items():
        long = rule == "security.secret" and _longest(text) >= _LONG_KEY
        if not long and not any(word in lowered for word in _NEEDLES.get(rule, ("",))):
            continue
        for match in pattern.finditer(text):
            shown = (match[1] if pattern.groups else match[0])[:_SHOWN]
            found.append((rule, text.count("\n", 0, match.start()) + 1, shown))
    return tuple(found)


def _longest(text: str) -> int:
    """Characters of the longest run without a blank."""
    return max(map(len, text.split()), default=0)


def _in_paths(bundle: Bundle) -> Iterator[Fact]:
    for path, blob in bundle.files.items():
        pure = PurePosixPath(path)
        if pure.name.lower() in _SECRET_FILES or _AGENT_FOLDERS & set(pure.parts[:-1]):
            yield Fact("security.agent-file", pure.name, path)
        if blob.data.startswith(_PROGRAMS):
            yield Fact("security.program", blob.sha256, path)


def _permissions(bundle: Bundle) -> Iterator[Fact]:
    for skill in bundle.skills:
        fields, _ = parse_frontmatter((bundle.files[skill.path].text or "").split("\n"))
        for name in ("allowed-tools", "hooks", "mcp-servers"):
            for value in _values(fields.get(name)):
                yield Fact("security.permission", (name, value), skill.path, 1, f"{name}: {value}")


def _values(value: object) -> Iterable[str]:
    """Each tool of a list, a comma-separated line or a mapping."""
    if isinstance(value, str):
        return [part.strip() for part in value.split(",") if part.strip()]
    if isinstance(value, list | dict):
        return sorted(str(part) for part in value)
    return [] if value is None else [str(value)]
