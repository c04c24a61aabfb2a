"""Classes of a Skill's files: its root, code, data or support.

root: the SKILL.md. code: what is run, compiled or imported. data: what only machines read, binary
files and terms of use among it. support: any other text, which an agent reads. A log tells a path
alone, a bundle the bytes too; the two answers differ only where the bytes tell more.
"""

from collections.abc import Mapping
from pathlib import PurePosixPath

from skilljuror.base.models.bundle import Blob, ResourceClass

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
