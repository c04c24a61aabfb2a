"""What kind of file a resource is, told from its path where no manifest says it."""

from skilljuror.models.bundle import ResourceClass

CODE = frozenset(
    {"py", "pyi", "sh", "bash", "zsh", "fish", "ps1", "bat", "cmd", "js", "mjs", "cjs", "ts", "mts", "tsx",
     "jsx", "rb", "pl", "pm", "php", "r", "jl", "lua", "go", "rs", "java", "kt", "scala", "swift", "c", "cc",
     "cpp", "h", "hpp", "cs", "sql", "awk", "sed", "m", "tcl", "lean", "hs", "ml", "ex", "exs", "clj", "mk",
     "cmake", "gradle", "groovy"}
)  # fmt: skip
"""Endings of files that are run, compiled or imported."""
CODE_NAMES = frozenset({"makefile", "dockerfile", "justfile", "rakefile", "gemfile"})
DATA = frozenset(
    {"csv", "tsv", "jsonl", "ndjson", "geojson", "parquet", "xlsx", "xls", "xlsm", "ods", "db", "sqlite",
     "npz", "npy", "pkl", "h5", "png", "jpg", "jpeg", "gif", "webp", "svg", "ico", "bmp", "ttf", "otf",
     "woff", "woff2", "pdf", "docx", "pptx", "odt", "zip", "gz", "tar", "tgz", "bz2", "xz", "7z", "mp3",
     "mp4", "wav", "stl", "bin", "dat", "wasm", "so", "xsd", "dtd", "xsl", "lock", "pdb", "cif", "fasta",
     "ipynb", "pem", "log", "bib"}
)  # fmt: skip
"""Endings of files that only machines read."""


def is_root(path: str) -> bool:
    """Whether a path inside a skill is its SKILL.md, in whatever case."""
    return path.lower() == "skill.md"


def class_of(path: str) -> ResourceClass:
    """root, code, data, or support for any other text."""
    if is_root(path):
        return "root"
    name = path.rpartition("/")[2].lower()
    stem, dot, ending = name.rpartition(".")
    if (ending in CODE and dot) or name in CODE_NAMES or (not dot and "scripts/" in path):
        return "code"
    licence = stem.startswith(("license", "licence")) or name in {"license", "licence", "notice"}
    return "data" if licence or (dot and ending in DATA) else "support"
