"""What a variant may not add: hidden text, dangerous commands, secrets, wider permissions."""

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from pathlib import PurePosixPath
from typing import ClassVar

from skilljuror.gates.findings import Observation, finding, gate_result
from skilljuror.knowledge.markdown.frontmatter import parse_frontmatter
from skilljuror.knowledge.units.extract import cached_by_bundles
from skilljuror.models.bundle import Blob, Bundle
from skilljuror.models.gate import Finding, GateResult

_SHOWN = 120
_MARKS = "`*_)]}'\".,;:"
"""What may follow a command in a sentence; it is no part of what is compared."""
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
"""Characters without a blank from which a text may hold a key that no head announces."""
_HEADS = {
    "security.remote-shell": (
        "curl", "wget", "irm", "iwr", "Invoke-WebRequest", "bash", "zsh", "sh", "iex",
    ),
    "security.destructive": ("rm", "sudo", "mkfs", "dd", "chmod", "shutil.rmtree("),
    "security.override": ("ignore", "disregard", "forget", "reveal", "print", "show", "do"),
    "security.secret": (
        "AKIA", "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "sk-", "xox", "AIza", "-----BEGIN ",
    ),
    "security.grader": (
        "test_output", "reward.", "/logs/verifier", "hidden test", "secret test", "the grader",
        "the verifier", "the autograder", "grader", "verifier", "autograder",
    ),
    "security.hidden-text": ("<!--",),
    "security.host": ("http",),
}  # fmt: skip
"""Every match of a pattern begins with one of these, so that it is tried there alone; a pattern
without heads is tried everywhere."""
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


class SecurityGate:
    """A skill is instructions by design, so only what the parent does not have is held against
    the variant, and nothing is ever cleaned. (transforms §6)"""

    name: ClassVar[str] = "security"

    def check(self, parent: Bundle, variant: Bundle, kind: str, policy: str) -> GateResult:
        """The answer for one pair."""
        known = {(observation.rule, observation.key) for observation in _observations(parent)}
        findings = [_judged(observation, known) for observation in _observations(variant)]
        return gate_result(
            self.name, (parent, variant), policy, findings, {"path": len(variant.files)}
        )


def _judged(observation: Observation, known: set[tuple[str, object]]) -> Finding:
    return finding(observation, inherited=(observation.rule, observation.key) in known)


@cached_by_bundles
def _observations(bundle: Bundle) -> list[Observation]:
    """The first observation of each rule and key."""
    first: dict[tuple[str, object], Observation] = {}
    for observation in (*_in_texts(bundle), *_in_paths(bundle), *_permissions(bundle)):
        first.setdefault((observation.rule, observation.key), observation)
    return list(first.values())


def _in_texts(bundle: Bundle) -> Iterator[Observation]:
    for path, blob in bundle.files.items():
        for rule, line, shown in _scanned(blob):
            yield Observation(
                rule, " ".join(shown.split()).rstrip(_MARKS) or shown, path, line, shown
            )


@lru_cache(maxsize=1024)
def _scanned(blob: Blob) -> tuple[tuple[str, int, str], ...]:
    """(rule, line, what stands there) of one file; kept, for a variant shares most files."""
    text = blob.text or ""
    lowered = _folded(text)
    hits = []
    for rule, pattern in _PATTERNS.items():
        line, place = 1, 0
        for match in _matches(rule, text, lowered):
            line, place = line + text.count("\n", place, match.start()), match.start()
            hits.append((rule, line, (match[1] if pattern.groups else match[0])[:_SHOWN]))
    return tuple(hits)


def _matches(rule: str, text: str, folded: str) -> Iterator[re.Match[str]]:
    """What `finditer` of the rule's pattern finds, tried at its heads alone."""
    pattern, heads = _PATTERNS[rule], _HEADS.get(rule, ())
    anywhere = rule == "security.secret" and _longest(text) >= _LONG_KEY
    if anywhere or not heads or len(folded) != len(text):
        yield from pattern.finditer(text)
        return
    searched = folded if pattern.flags & re.IGNORECASE else text
    end = 0
    for start in sorted({place for head in heads for place in _places(searched, head)}):
        match = pattern.match(text, start) if start >= end else None
        if match:
            end = match.end()
            yield match


def _places(text: str, head: str) -> Iterator[int]:
    """Where a head stands, overlaps included."""
    place = text.find(head)
    while place >= 0:
        yield place
        place = text.find(head, place + 1)


def _folded(text: str) -> str:
    """Letters as a pattern that ignores case takes them, character by character: beside capitals
    four letters beyond ASCII are taken for one of ASCII."""
    if not text.isascii():
        for letter, plain in (("\u0130", "i"), ("\u0131", "i"), ("\u017f", "s"), ("\u212a", "k")):
            text = text.replace(letter, plain)
    return text.lower()


def _longest(text: str) -> int:
    """Characters of the longest run without a blank."""
    return max(map(len, text.split()), default=0)


def _in_paths(bundle: Bundle) -> Iterator[Observation]:
    for path, blob in bundle.files.items():
        pure = PurePosixPath(path)
        if pure.name.lower() in _SECRET_FILES or _AGENT_FOLDERS & set(pure.parts[:-1]):
            yield Observation("security.agent-file", pure.name, path)
        if blob.data.startswith(_PROGRAMS):
            yield Observation("security.program", blob.sha256, path)


def _permissions(bundle: Bundle) -> Iterator[Observation]:
    for skill in bundle.skills:
        fields, _ = parse_frontmatter((bundle.files[skill.path].text or "").split("\n"))
        for name in ("allowed-tools", "hooks", "mcp-servers"):
            for value in _values(fields.get(name)):
                yield Observation(
                    "security.permission", (name, value), skill.path, 1, f"{name}: {value}"
                )


def _values(value: object) -> Iterable[str]:
    """Each tool of a list, a comma-separated line or a mapping."""
    if isinstance(value, str):
        return [part.strip() for part in value.split(",") if part.strip()]
    if isinstance(value, list | dict):
        return sorted(str(part) for part in value)
    return [] if value is None else [str(value)]
