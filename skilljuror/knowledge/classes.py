"""What a file of a bundle is: root, code, data or support."""

from pathlib import PurePosixPath

from skilljuror.models.bundle import Blob, ResourceClass
from skilljuror.tokens import estimate

SCRIPT_SUFFIXES = frozenset({
    ".py", ".pyi", ".sh", ".bash", ".zsh", ".fish", ".ps1", ".bat", ".cmd", ".js", ".mjs", ".cjs",
    ".ts", ".mts", ".tsx", ".jsx", ".rb", ".pl", ".pm", ".php", ".r", ".jl", ".lua", ".go", ".rs",
    ".java", ".kt", ".scala", ".swift", ".c", ".cc", ".cpp", ".h", ".hpp", ".cs", ".sql", ".awk",
    ".sed", ".m", ".tcl", ".lean", ".hs", ".ml", ".ex", ".exs", ".clj", ".v", ".vhd", ".sv",
    ".asm", ".s", ".mk", ".cmake", ".gradle", ".groovy",
})  # fmt: skip
"""Suffixes of files that are run, compiled or imported."""
MACHINE_SUFFIXES = frozenset({
    ".xsd", ".dtd", ".xsl", ".xslt", ".wsdl", ".rng", ".svg", ".ipynb", ".lock", ".pdb", ".cif",
    ".sdf", ".fasta", ".fa", ".gml", ".geojson", ".kml", ".map", ".pem", ".crt", ".b64", ".ttf",
    ".otf", ".woff", ".woff2",
})  # fmt: skip
"""Suffixes of text that only machines read, whatever its size."""
BULK_SUFFIXES = frozenset({
    ".csv", ".tsv", ".json", ".jsonl", ".ndjson", ".xml", ".yaml", ".yml", ".log", ".dat", ".bib",
})  # fmt: skip
"""Suffixes of text that is data when it is long."""
LONG_DATA = 1_500
"""Estimated tokens from which a file with a bulk suffix counts as data."""
SCRIPT_NAMES = frozenset({"makefile", "dockerfile", "justfile", "rakefile", "gemfile"})
_LICENCES = ("license", "licence", "copying", "notice", "copyright")
_LICENCE_FOLDERS = frozenset({"licenses", "licences"})
_TEXT_SUFFIXES = frozenset({"", ".txt", ".md", ".rst"})


def is_root_name(path: str) -> bool:
    """Whether the file is named SKILL.md, in any case."""
    return PurePosixPath(path).name.lower() == "skill.md"


def is_licence(path: str) -> bool:
    """Whether the file carries redistribution terms, which every variant must keep."""
    pure = PurePosixPath(path)
    stem = pure.name.lower().removesuffix(pure.suffix.lower())
    named = stem.startswith(_LICENCES) and pure.suffix.lower() in _TEXT_SUFFIXES
    font = pure.name.endswith("-OFL.txt") or pure.name == "OFL.txt"
    folder = any(part.lower() in _LICENCE_FOLDERS for part in pure.parts[:-1])
    return named or font or folder


def is_markdown(path: str) -> bool:
    """Whether the file is Markdown by its suffix."""
    return PurePosixPath(path).suffix.lower() in {".md", ".markdown", ".mdx"}


def resource_class(path: str, blob: Blob) -> ResourceClass:
    """root (SKILL.md), data (binary, a licence, or machine-read and not prose), code (run or
    imported), support (any other text).

    The name alone makes a root: a SKILL.md inside another skill's folder is the caller's to see.
    """
    text = blob.text
    if is_root_name(path):
        return "root"
    if text is None or is_licence(path):
        return "data"
    pure = PurePosixPath(path)
    suffix = pure.suffix.lower()
    if suffix in SCRIPT_SUFFIXES or pure.name.lower() in SCRIPT_NAMES:
        return "code"
    if suffix in MACHINE_SUFFIXES or (suffix in BULK_SUFFIXES and estimate(text) > LONG_DATA):
        return "data"
    if text.startswith("#!") or (blob.executable and not is_markdown(path)):
        return "code"
    return "support"
