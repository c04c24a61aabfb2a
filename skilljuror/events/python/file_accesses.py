"""Files that Python code opens, runs, or imports from a folder on `sys.path`.

Covers what agents write: `open`, `Path.read_text`, `subprocess.run`, imports, with paths of
constants, names assigned once, `/`, `os.path.join` and f-strings. Anything else is left to the
output, which is evidence by itself.
"""

import ast
import sys
from collections.abc import Sequence

from msgspec import field
from msgspec.structs import replace

from skilljuror.base.trajectory import EventKind
from skilljuror.events.accesses.file_access import OTHER_OUTPUT, UNCERTAIN, Access
from skilljuror.events.paths import expand_home, folder_of, join
from skilljuror.events.python.dataflow import Printed
from skilljuror.events.python.path_values import PathValues, callee

MAX_CODE = 400_000
"""Maximum characters of code; agents do not write more."""
_MOST_FOLDERS = 32
"""Maximum folders of the import path, latest first."""
_OPENERS = frozenset({"open", "read_text", "read_bytes", "read_csv", "read_json", "read_excel"})
_WRITERS = frozenset({"write_text", "write_bytes"})
_RUNNERS = frozenset(
    {"run", "Popen", "call", "check_call", "check_output", "system", "popen", "run_path", "getoutput"}
)  # fmt: skip
_STARTERS = frozenset({"python", "python3", "bash", "sh", "node", "uv"})
"""Programs that run a script."""
_LOADERS = frozenset({"spec_from_file_location", "SourceFileLoader"})
LIBRARIES = frozenset(
    {"numpy", "pandas", "scipy", "matplotlib", "sklearn", "requests", "yaml", "docx", "openpyxl", "pptx",
     "PIL", "cv2", "torch", "tensorflow", "bs4", "lxml", "pypdf", "PyPDF2", "pdfplumber", "reportlab",
     "fitz", "networkx", "sympy", "seaborn", "plotly", "tqdm", "pytest", "jinja2", "click", "flask",
     "django", "fastapi", "pydantic", "sqlalchemy", "httpx", "aiohttp", "attr", "rich", "typer", "toml",
     "xlsxwriter", "xlrd", "pytz", "dateutil", "six", "setuptools", "trimesh", "obspy", "rdkit", "Bio"}
)  # fmt: skip
"""Bare imports that always mean a library."""


def python_accesses(
    code: str, cwd: str | None, home: str | None, folders: Sequence[str] = (), *, echoes: bool = False
) -> list[Access]:  # fmt: skip
    """Return a Python text's accesses; empty if it does not parse.

    `folders` are those of PYTHONPATH; `echoes` means that the last line's value is shown, as in a
    notebook.
    """
    tree = _parsed(code)
    if tree is None:
        return []
    reader = _CodeReader(home, cwd=cwd, folders=[*folders, *([cwd] if cwd else [])])
    nodes = list(ast.walk(tree))
    for node in nodes:
        if isinstance(node, ast.Assign):
            reader.assign(node)
    for node in nodes:
        if isinstance(node, ast.Call):
            reader.call(node)
    for node in nodes:
        reader.imports(node)
    return _by_what_is_printed(reader, Printed.by(tree, reader.reads, echoes=echoes))


def _parsed(code: str) -> ast.Module | None:
    if len(code) > MAX_CODE:
        return None
    try:
        return ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


class _CodeReader(PathValues, kw_only=True):
    """Collects the accesses of one text."""

    cwd: str | None
    folders: list[str]
    """Folders added to the import path."""
    found: dict[tuple[str, EventKind], Access] = field(default_factory=dict)
    """Accesses by path and kind, in order."""
    reads: dict[int, str] = field(default_factory=dict)
    """`id` of a reading call -> its path."""

    def path(self, text: str) -> str:
        return join(self.cwd, expand_home(text, self.home))

    def add(self, text: str, kind: EventKind, note: str = "") -> str:
        """Add an access; return its path."""
        path = self.path(text)
        access = Access(path, kind, via="python", bundle_files_only=True, note=note)
        self.found.setdefault((path, kind), access)
        return path

    def call(self, node: ast.Call) -> None:
        """Files that a call opens, writes, runs, loads, or adds to the import path."""
        name = callee(node.func)
        if name in _OPENERS:
            self._open(node, name)
        elif name in _WRITERS:
            owner = node.func.value if isinstance(node.func, ast.Attribute) else None
            if path := self.of(owner):
                self.add(path, "write")
        elif name in _RUNNERS:
            self._run(node)
        elif name in _LOADERS:
            for path in map(self.of, node.args):
                if path and path.endswith(".py"):
                    self.add(path, "import")
        elif name in {"append", "insert"} and _is_import_path(node.func):
            for folder in map(self.of, node.args):
                self.folders[:0] = [self.path(folder)] if folder else []
            del self.folders[_MOST_FOLDERS:]

    def _open(self, node: ast.Call, name: str) -> None:
        """`open(path, mode)`, `path.open(mode)`, `path.read_text()`, `pandas.read_csv(path)`."""
        owner = self.of(node.func.value) if isinstance(node.func, ast.Attribute) else None
        given = [*([owner] if owner is not None else []), *map(self.of, node.args)]
        if not given or not given[0] or "\n" in given[0]:
            return
        mode = next((word.value for word in node.keywords if word.arg == "mode"), None)
        flags = (self.of(mode) if mode else given[1] if len(given) > 1 else None) or "r"
        if name == "open" and set(flags) & set("wax"):
            self.add(given[0], "edit" if "a" in flags else "write")
        else:
            self.reads[id(node)] = self.add(given[0], "read")

    def _run(self, node: ast.Call) -> None:
        """Script of a child process: `run([sys.executable, script])`, `run_path(script)`."""
        first = node.args[0] if node.args else None
        items = first.elts if isinstance(first, ast.List | ast.Tuple) else [first]
        words = [word for text in map(self.of, items) if text for word in text.split()][:40]
        script = next((w for w in words if "/" in w and "." in w.rpartition("/")[2]), None)
        if script and (script == words[0] or words[0].rpartition("/")[2] in _STARTERS):
            self.add(script, "exec")

    def imports(self, node: ast.AST) -> None:
        """`import a.b` and `from a import b`, where b may be a module or a name in one."""
        if isinstance(node, ast.Import):
            for alias in node.names:
                self._import(alias.name)
        elif isinstance(node, ast.ImportFrom) and not node.level and node.module:
            self._import(node.module)
            for alias in node.names:
                self._import(f"{node.module}.{alias.name}", UNCERTAIN)

    def _import(self, module: str, note: str = "") -> None:
        first = module.partition(".")[0]
        if first not in LIBRARIES and first not in sys.stdlib_module_names:
            for folder in list(self.folders):
                self.add(f"{folder}/{module.replace('.', '/')}.py", "import", note)


def _is_import_path(func: ast.AST) -> bool:
    """Whether it is `sys.path.append` rather than another list's."""
    return isinstance(func, ast.Attribute) and (
        isinstance(func.value, ast.Attribute) and func.value.attr == "path"
    )


def _by_what_is_printed(reader: _CodeReader, printed: Printed) -> list[Access]:
    """Set exposure by what is printed, and edits by what is written back."""
    portions: dict[str, set[bool | None]] = {}
    for read, path in reader.reads.items():
        portions.setdefault(path, set()).add(printed.portions.get(read))
    found = [_as_printed(one, portions.get(one.path, set())) for one in reader.found.values()]
    mixed = printed.others and bool(reader.reads)
    return [*found, Access("", "mention", note=OTHER_OUTPUT)] if mixed else found


def _as_printed(access: Access, shown: set[bool | None]) -> Access:
    """`shown` tells of each read of the path whether all or a part is printed, or None."""
    if access.kind == "write" and shown:
        return replace(access, kind="edit")
    if access.kind != "read" or True in shown:
        return access
    if False in shown:
        return replace(access, selection=access.selection.filtered())
    return replace(access, shown=False, note="read but not printed")


def accesses_of_script(code: str, path: str, home: str | None) -> list[Access]:
    """Accesses of running a script stored at `path`."""
    return [
        access
        for access in python_accesses(code, folder_of(path) or None, home)
        if access.kind != "write"
    ]


def prints_input(code: str) -> bool:
    """Whether a Python text prints any of its standard input."""
    tree = _parsed(code) if "stdin" in code else None
    if tree is None:
        return False
    inputs = [id(n) for n in ast.walk(tree) if isinstance(n, ast.Attribute) and n.attr == "stdin"]
    return bool(Printed.by(tree, inputs).portions)
