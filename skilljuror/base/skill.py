"""Records of a Skill: its files, their classes, its knowledge units, and the plan of a variant."""

import hashlib
import unicodedata
from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import Literal

from msgspec import Struct

UnitKind = Literal[
    "statement", "heading", "item", "row", "code", "command", "step", "field", "file", "schema",
    "link",
]  # fmt: skip

CONTENT_KINDS: frozenset[str] = frozenset({"statement", "heading", "item", "row", "code", "field"})
"""Kinds that partition the text: every line with content belongs to one of these, but for
the definition of a link, which is in the text of the links that use it.
The others (command, step, file, schema, link) are derived from the same lines."""

ChangeKind = Literal[
    "polarity", "comparator-flip", "comparator", "number", "unit", "modal", "reference", "order",
    "content", "renamed",
]  # fmt: skip
"""What differs in a pair, worst first where several apply. Of texts: a negation gained or lost, a comparator turned round,
another comparator, a number, its unit, the strength of a modal, a code span, path or flag, their order. Of files: the
bytes, the name."""


SKILL_ROOTS = {"0.24": "/harbor/skills", "0.25": "/runtime/skills"}
"""Supported version of Harbor -> folder in which it mounts a trial's Skills."""


class Unit(Struct, frozen=True):
    """The smallest piece of knowledge followed through layouts: a statement, item, row, code line or setting."""

    unit: str
    """Stable id inside one bundle: kind, digest of the normalised text, ordinal."""
    kind: UnitKind
    file: str
    start: int
    end: int
    headings: tuple[str, ...]
    """Heading path, outermost first, without generated headings."""
    text: str
    """Normalised text: white space folded, list marker and emphasis marks removed, case kept."""
    criticals: tuple[str, ...] = ()
    """Ordered critical tokens: numbers with units, comparators, modals, code spans, paths, flags."""
    generated: str | None = None
    """Template that generated the line; None for an author's text."""
    lead: str = ""
    """Sentence that introduces its list, table or code; "" if none."""
    depth: int = 0
    """Level of a heading, or number of lists around an item; 0 for other kinds."""


class UnitLocation(Struct, frozen=True):
    """Location of a unit in one variant."""

    file: str
    start: int
    end: int


class MappedUnit(Struct, frozen=True):
    """A row of knowledge.jsonl: one unit of the source and its location in each variant."""

    unit: Unit
    places: dict[str, UnitLocation | None]
    """variant -> location; None if the unit is missing (a gate reports it)."""


class UnitPair(Struct, frozen=True):
    """A unit of the parent and its counterpart in the variant."""

    before: Unit
    after: Unit
    change: ChangeKind | None = None
    """What changed; None if both say the same."""


# A Skill bundle in memory: every file as bytes, and the skills in it.


ResourceClass = Literal["root", "support", "code", "data"]
IssueSeverity = Literal["error", "warning", "info"]


class Blob(Struct, frozen=True):
    """One file's content."""

    data: bytes
    executable: bool = False

    @property
    def sha256(self) -> str:
        """Hex digest of the bytes."""
        return hashlib.sha256(self.data).hexdigest()

    @property
    def text(self) -> str | None:
        """The content as UTF-8 text without its byte order mark, or None for a binary file."""
        if b"\0" in self.data:
            return None
        try:
            return self.data.decode("utf-8-sig")
        except UnicodeDecodeError:
            return None

    @property
    def encoding_problem(self) -> str | None:
        """Why it is not text; None for text."""
        if self.text is not None:
            return None
        if self.data.startswith((b"\xff\xfe", b"\xfe\xff")):
            return "is UTF-16, which agents do not read: save it as UTF-8"
        return "is not UTF-8 text: save it as UTF-8"


class Skill(Struct, frozen=True):
    """One skill of a bundle: a directory with a SKILL.md."""

    name: str
    """Name from the frontmatter, else the directory's name."""
    directory: str
    """Posix path of the skill's directory inside the bundle; never "": a bundle that is a single
    skill directory is loaded under its folder name."""
    path: str
    """Posix path of its SKILL.md inside the bundle, spelled as on disk."""
    description: str | None = None
    """Description from the frontmatter; None when it has none."""


class BundleIssue(Struct, frozen=True):
    """An issue of a source; every variant inherits it."""

    rule: str
    severity: IssueSeverity
    file: str
    """Posix path inside the bundle; "" for the bundle as a whole."""
    message: str
    line: int | None = None


class Bundle(Struct, frozen=True):
    """A safely loaded bundle of one or more skills."""

    name: str
    files: dict[str, Blob]
    """Every file by its posix path inside the bundle, in bytewise order of the paths."""
    skills: tuple[Skill, ...]
    """The skills found, in path order; empty for a bundle without any SKILL.md."""
    source: str = ""
    """Path as the user wrote it; never part of a digest."""
    issues: tuple[BundleIssue, ...] = ()

    @property
    def digest(self) -> str:
        """sha256 over the sorted paths, execute bits and content digests ("tree digest")."""
        return tree_digest(self.files)


def tree_digest(files: dict[str, Blob]) -> str:
    """sha256 over (path, execute bit, content sha256) of every file in bytewise path order."""
    return digest_of_digests({path: (one.sha256, one.executable) for path, one in files.items()})


def digest_of_digests(files: Mapping[str, tuple[str, bool]]) -> str:
    """The tree digest of files of which sha256 and execute bit are known."""
    tree = hashlib.sha256()
    for path in sorted(files, key=lambda name: name.encode()):
        digest, executable = files[path]
        tree.update(f"{path}\0{int(executable)}\0{digest}\n".encode())
    return tree.hexdigest()


# Classes of a Skill's files: its root, code, data or support.


CODE_SUFFIXES = frozenset({
    ".py", ".pyi", ".sh", ".bash", ".zsh", ".fish", ".ps1", ".bat", ".cmd", ".js", ".mjs", ".cjs",
    ".ts", ".mts", ".tsx", ".jsx", ".rb", ".pl", ".pm", ".php", ".r", ".jl", ".lua", ".go", ".rs",
    ".java", ".kt", ".scala", ".swift", ".c", ".cc", ".cpp", ".h", ".hpp", ".cs", ".sql", ".awk",
    ".sed", ".m", ".tcl", ".lean", ".hs", ".ml", ".ex", ".exs", ".clj", ".v", ".vhd", ".sv",
    ".asm", ".s", ".mk", ".cmake", ".gradle", ".groovy",
})  # fmt: skip
"""Suffixes of files that are run, compiled or imported."""
CODE_NAMES = frozenset({"makefile", "dockerfile", "justfile", "rakefile", "gemfile"})
"""Names of such files without a suffix."""
DATA_SUFFIXES = frozenset({
    ".csv", ".tsv", ".jsonl", ".ndjson", ".geojson", ".dat", ".log", ".bib", ".parquet", ".xlsx",
    ".xls", ".xlsm", ".ods", ".db", ".sqlite", ".npz", ".npy", ".pkl", ".h5", ".ipynb", ".lock",
    ".map", ".xsd", ".dtd", ".xsl", ".xslt", ".wsdl", ".rng", ".gml", ".kml", ".pdb", ".cif",
    ".sdf", ".fasta", ".fa", ".pem", ".crt", ".b64", ".png", ".jpg", ".jpeg", ".gif", ".webp",
    ".svg", ".ico", ".bmp", ".ttf", ".otf", ".woff", ".woff2", ".pdf", ".docx", ".pptx", ".odt",
    ".zip", ".gz", ".tar", ".tgz", ".bz2", ".xz", ".7z", ".mp3", ".mp4", ".wav", ".stl", ".bin",
    ".wasm", ".so",
})  # fmt: skip
"""Suffixes of files that only machines read."""
BULK_SUFFIXES = frozenset({".json", ".xml", ".yaml", ".yml"})
"""Suffixes of text that is support while it is short, and data when it is long."""
LONG_BYTES = 6_000
"""Bytes from which such a text is long: about 1,500 tokens."""
_LICENCES = ("license", "licence", "copying", "notice", "copyright")
_LICENCE_FOLDERS = frozenset({"licenses", "licences"})
_TEXT_SUFFIXES = frozenset({"", ".txt", ".md", ".rst"})


def name_key(path: str) -> str:
    """Return what macOS and Windows compare of a name: neither case nor Unicode form."""
    return unicodedata.normalize("NFC", path).casefold()


def is_root_name(path: str) -> bool:
    """Whether the file is named SKILL.md, in any case and in any folder."""
    return PurePosixPath(path).name.lower() == "skill.md"


def missing_root(files: Mapping[str, Blob]) -> str:
    """Return the problem of a bundle without any skill, to follow its name, and the fix."""
    for path, blob in files.items():
        if is_root_name(path) and (problem := blob.encoding_problem):
            return f"has no skill that can be read: {path!r} {problem}"
    return "has no SKILL.md in any folder; point at a skill's folder, or at a folder of skills"


def is_root(path: str) -> bool:
    """Whether a path inside a Skill's folder is its SKILL.md, in any case."""
    return path.lower() == "skill.md"


def is_markdown(path: str) -> bool:
    """Whether the file is Markdown by its suffix."""
    return PurePosixPath(path).suffix.lower() in {".md", ".markdown", ".mdx"}


def is_licence(path: str) -> bool:
    """Whether the file carries redistribution terms, which every variant must keep."""
    pure = PurePosixPath(path)
    stem = pure.name.lower().removesuffix(pure.suffix.lower())
    named = stem.startswith(_LICENCES) and pure.suffix.lower() in _TEXT_SUFFIXES
    font = pure.name.endswith("-OFL.txt") or pure.name == "OFL.txt"
    folder = any(part.lower() in _LICENCE_FOLDERS for part in pure.parts[:-1])
    return named or font or folder


def class_of(path: str) -> ResourceClass:
    """The class of a file by its path inside the Skill's folder; a SKILL.md in a folder below is
    support."""
    pure = PurePosixPath(path)
    name, suffix = pure.name.lower(), pure.suffix.lower()
    if is_root(path):
        return "root"
    if is_licence(path):
        return "data"
    script = "." not in name and "scripts" in pure.parts[:-1]
    if suffix in CODE_SUFFIXES or name in CODE_NAMES or script:
        return "code"
    return "data" if suffix in DATA_SUFFIXES else "support"


def resource_class(path: str, blob: Blob) -> ResourceClass:
    """The class of a file by its path and content.

    Beyond `class_of`: a binary file and a long text with a bulk suffix are data; an executable text
    and one that begins with "#!" are code, Markdown that is merely executable apart. For a path in
    a bundle, which begins with the Skill's folder, the root of a Skill is the caller's to know.
    """
    known, text = class_of(path), blob.text
    if known == "root":
        return known
    if text is None:
        return "data"
    if known != "support":
        return known
    if PurePosixPath(path).suffix.lower() in BULK_SUFFIXES and len(blob.data) > LONG_BYTES:
        return "data"
    runs = text.startswith("#!") or (blob.executable and not is_markdown(path))
    return "code" if runs else "support"


# A Plan states, line by line, the origin of every piece of a variant.


SubstitutionKind = Literal["link", "mention", "stale-path", "control"]


class Substitution(Struct, frozen=True):
    """One recorded change inside a copied line, so that the copy can be inverted."""

    line: int
    before: str
    after: str
    """The line as written into the variant, before any heading shift."""
    kind: SubstitutionKind
    """Why it was changed: a link or a mention of a moved file, or a control that takes the names of
    files out; "stale-path", an absolute path made relative, stands in older plans alone."""


class Copy(Struct, frozen=True, tag="copy", tag_field="piece"):
    """Lines `start..end` of a parent file, copied unchanged."""

    source: str
    start: int
    """First line, 1-based; lines are split on newline only."""
    end: int
    """Last line, inclusive; end < start means an empty file."""
    shift: int = 0
    """Heading levels added to every ATX heading of the range (negative promotes)."""
    substitutions: tuple[Substitution, ...] = ()

    @property
    def size(self) -> int:
        """Number of lines."""
        return max(0, self.end - self.start + 1)


class Generated(Struct, frozen=True, tag="generated", tag_field="piece"):
    """Lines generated from a closed set of templates."""

    template: str
    """Name of the template in `knowledge.generated.templates`."""
    params: dict[str, str]
    """Values; each is a word, path or heading copied from the source."""

    @property
    def size(self) -> int:
        """Number of lines."""
        return 1


class Omitted(Struct, frozen=True):
    """A parent line that the variant lacks: a blank line, a marker or fence around a restored file, or
    a frontmatter delimiter."""

    source: str
    line: int
    text: str
    """The line, stored so that the parent can be rebuilt."""


class PlannedFile(Struct, frozen=True):
    """One file of the variant."""

    path: str
    pieces: tuple[Copy | Generated, ...]
    executable: bool = False
    final_newline: bool = True
    bom: bool = False
    crlf: bool = False


class Plan(Struct, frozen=True):
    """Derivation of one variant from its parent."""

    variant: str
    """Name of the variant: origin, origin-flat, baseline, pd, …"""
    parent: str
    """Variant (or "source") that the pieces refer to."""
    files: tuple[PlannedFile, ...]
    sidecars: dict[str, str] = {}
    """Files copied byte for byte: path in the variant -> path in the parent."""
    dropped: dict[str, str] = {}
    """Parent files left out: path -> reason (such as "empty")."""
    flags: dict[str, tuple[str, ...]] = {}
    """Byte-level properties of parent files copied as text: path -> "bom", "crlf",
    "no-final-newline"."""
    omitted: tuple[Omitted, ...] = ()
    notes: tuple[str, ...] = ()
    """Notes for the reader, such as a stale absolute path in a script."""
