"""Names of Python's own functions and of common libraries, by what they do with files."""

READERS = frozenset(
    {"open", "read_text", "read_bytes", "readlines", "read", "read_csv", "read_json", "read_excel",
     "fromfile", "loadtxt", "getline", "FileInput"}
)  # fmt: skip
RUNNERS = frozenset(
    {"run", "Popen", "call", "check_call", "check_output", "system", "popen", "run_path", "execv",
     "getoutput", "getstatusoutput", "create_subprocess_exec"}
)  # fmt: skip
GLOBS = frozenset({"glob", "rglob", "iglob", "listdir", "iterdir", "scandir", "walk"})
LINE_READERS = frozenset({"head", "tail", "sed", "awk", "grep", "rg"})
MOVERS = frozenset({
    "cp",
    "mv",
    "rm",
    "ls",
    "find",
    "chmod",
    "mkdir",
    "touch",
    "git",
    "echo",
    "tar",
    "zip",
})
"""Programs that do not run what they are given."""
LOADERS = frozenset({"spec_from_file_location", "SourceFileLoader", "load_source"})
COMMON = frozenset(
    {"numpy", "pandas", "scipy", "matplotlib", "sklearn", "requests", "yaml", "docx", "openpyxl", "pptx",
     "PIL", "cv2", "torch", "tensorflow", "bs4", "lxml", "pypdf", "PyPDF2", "pdfplumber", "reportlab",
     "fitz", "networkx", "sympy", "seaborn", "plotly", "tqdm", "pytest", "jinja2", "click", "flask",
     "django", "fastapi", "pydantic", "sqlalchemy", "httpx", "aiohttp", "attr", "rich", "typer", "toml",
     "xlsxwriter", "xlrd", "pytz", "dateutil", "six", "setuptools", "trimesh", "obspy", "rdkit", "Bio"}
)  # fmt: skip
"""Libraries that a bare import means, whatever lies on the path."""
