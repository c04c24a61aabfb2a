"""The variant adds no hidden text, dangerous commands, secrets or wider permissions."""

import re
import unicodedata
from collections.abc import Iterable, Iterator
from functools import lru_cache
from pathlib import PurePosixPath
from typing import ClassVar

from skilljuror.audit.gates.findings import Observation, finding, gate_result
from skilljuror.base.build import GateResult
from skilljuror.base.skill import Blob, Bundle
from skilljuror.skill.markdown import parse_frontmatter
from skilljuror.skill.units import cached_by_bundles

_SHOWN = 120
_MARKS = "`*_)]}'\".,;:"
"""Characters that may follow a command in a sentence; they are not compared."""
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
_SECRET_FILES = frozenset({
    ".env", ".npmrc", ".pypirc", ".netrc", ".mcp.json", ".git-credentials", "id_rsa", ".bashrc",
})  # fmt: skip
_AGENT_FOLDERS = frozenset({".claude", ".codex", ".gemini", ".cursor", ".vscode", ".github", ".ssh"})  # fmt: skip
_PROGRAMS = (b"\x7fELF", b"MZ", b"\xcf\xfa\xed\xfe", b"\xca\xfe\xba\xbe")


class SecurityGate:
    """Report what the variant adds: a skill is instructions by design, so what the parent has is
    allowed, and nothing is ever removed. (transforms §6)"""

    name: ClassVar[str] = "security"

    def check(self, parent: Bundle, variant: Bundle, kind: str, policy: str) -> GateResult:
        known = {(one.rule, one.key) for one in _observations(parent)}
        findings = [
            finding(one, inherited=(one.rule, one.key) in known) for one in _observations(variant)
        ]
        return gate_result(
            self.name, (parent, variant), policy, findings, {"path": len(variant.files)}
        )


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
    text, hits = blob.text or "", list[tuple[str, int, str]]()
    for rule, pattern in _PATTERNS.items():
        line, place = 1, 0
        for match in pattern.finditer(text):
            line, place = line + text.count("\n", place, match.start()), match.start()
            hits.append((rule, line, (match[1] if pattern.groups else match[0])[:_SHOWN]))
    hits += [("security.look-alike", line, word[:_SHOWN]) for line, word, _ in look_alikes(text)]
    return tuple(hits)


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
    if isinstance(value, str):
        return [part.strip() for part in value.split(",") if part.strip()]
    if isinstance(value, list | dict):
        return sorted(str(part) for part in value)
    return [] if value is None else [str(value)]


_LATIN = str.maketrans(
    "\u0430\u0435\u043e\u0440\u0441\u0443\u0445\u0456\u0455\u0458\u04bb\u0501\u051b\u051d\u043a\u043c\u0442\u0432\u043d"
    "\u0410\u0412\u0415\u041a\u041c\u041d\u041e\u0420\u0421\u0422\u0423\u0425\u0406\u0405\u0408"
    "\u03bf\u03b1\u03bd\u03b9\u03ba\u03c1\u03c5\u0391\u0392\u0395\u0396\u0397\u0399\u039a\u039c\u039d\u039f\u03a1\u03a4"
    "\u03a5\u03a7\u0585\u057d\u0578",
    "aeopcyxisjhdqwkmtbhABEKMHOPCTYXISJoavikpuABEZHIKMNOPTYXoun",
)
"""Cyrillic, Greek and Armenian letters."""
_LETTERS = re.compile(r"[^\W\d_]{3,}")
_DRAWN = ("MATHEMATICAL", "FULLWIDTH")
"""Latin letters that are drawn otherwise, by the first word of their names."""


def look_alikes(text: str) -> Iterator[tuple[int, str, str]]:
    """Yield (1-based line, word, the Latin word that it looks like).

    A line with other letters of such an alphabet is written in it, and left alone.
    """
    for number, line in enumerate(text.split("\n"), 1):
        if line.isascii():
            continue
        found = [(word, _latin(word)) for word in _LETTERS.findall(line) if not word.isascii()]
        if not any(_is_foreign(letter) for letter in line):
            yield from ((number, word, plain) for word, plain in found if plain.isascii())


def _latin(word: str) -> str:
    letters = (unicodedata.normalize("NFKC", one) if _kind(one) in _DRAWN else one for one in word)
    return "".join(letters).translate(_LATIN)


def _is_foreign(letter: str) -> bool:
    """Whether a letter of another alphabet looks like no Latin one."""
    foreign = letter.isalpha() and _kind(letter) in {"CYRILLIC", "GREEK", "ARMENIAN"}
    return foreign and not letter.translate(_LATIN).isascii()


@lru_cache(maxsize=1 << 12)
def _kind(letter: str) -> str:
    return "" if letter.isascii() else unicodedata.name(letter, "").partition(" ")[0]
