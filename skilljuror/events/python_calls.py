"""Files that Python code names: opened, run, or imported from a folder on `sys.path`.

Paths are literals, or `Path` of one. What a name or an expression holds is not followed, and so what
is printed neither, but for `print(open("…").read())`: else a read shows as much as the output does.
"""

import ast
import sys
from collections.abc import Iterator

from skilljuror.base.trajectory import EventKind
from skilljuror.events.access import Access, expand_home, folder_of, join

_READERS = frozenset({"open", "read_text", "read_bytes", "read_csv", "read_json", "read_excel"})
_WRITERS = frozenset({"write_text", "write_bytes"})
_LIBRARIES = frozenset(
    {"numpy", "pandas", "scipy", "matplotlib", "sklearn", "requests", "yaml", "docx", "openpyxl",
     "pptx", "PIL", "cv2", "torch", "bs4", "lxml", "pypdf", "pdfplumber", "reportlab", "pytest"}
)  # fmt: skip
"""Modules that agents import beside a bundle's own."""


def python_accesses(code: str, cwd: str | None, home: str | None) -> list[Access]:
    """Return a Python text's accesses; empty if it does not parse.

    A module is looked for in every folder that the code adds to `sys.path`, then in `cwd`.
    """
    try:
        nodes = list(ast.walk(ast.parse(code)))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    folders = [cwd] if cwd else []
    found: dict[tuple[str, EventKind], Access] = {}

    def add(path: str, kind: EventKind, note: str = "", *, shown: bool = True) -> None:
        path = join(cwd, expand_home(path, home))
        access = Access(path, kind, "python", shown=shown, bundle_files_only=True, note=note)
        found.setdefault((path, kind), access)

    calls = [node for node in nodes if isinstance(node, ast.Call)]
    printed = {
        _opened(node.args[0]) for node in calls if _called(node.func) == "print" and node.args
    }
    for node in calls:
        owner = node.func.value if isinstance(node.func, ast.Attribute) else None
        name = _called(node.func)
        texts = [text for text in map(_literal, (owner, *node.args)) if text is not None]
        if (
            name in {"append", "insert"}
            and isinstance(owner, ast.Attribute)
            and owner.attr == "path"
        ):
            folders[:0] = [join(cwd, expand_home(text, home)) for text in texts]
        elif name in _WRITERS and texts and _literal(owner) is not None:
            add(texts[0], "write")
        elif name in _READERS and texts and "\n" not in texts[0]:
            mode = next(
                (_literal(word.value) for word in node.keywords if word.arg == "mode"), None
            )
            flags = set(mode or (texts[1] if len(texts) > 1 else "")) if name == "open" else set()
            kind: EventKind = "edit" if "a" in flags else "write" if flags & set("wx") else "read"
            add(texts[0], kind, shown=kind != "read" or node in printed)
        elif name == "run_path" and texts:
            add(texts[0], "exec")
    for module, note in _imported(nodes):
        first = module.partition(".")[0]
        for folder in folders if first not in _LIBRARIES | sys.stdlib_module_names else ():
            add(f"{folder}/{module.replace('.', '/')}.py", "import", note)
    return list(found.values())


UNCERTAIN = "maybe"
"""Note of an access that may not have happened: a name in a module, which may be a module too."""


def _imported(nodes: list[ast.AST]) -> Iterator[tuple[str, str]]:
    """Modules of `import a.b` and `from a import b`, each with a note."""
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from ((alias.name, "") for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module, ""
            yield from ((f"{node.module}.{alias.name}", UNCERTAIN) for alias in node.names)


def _called(node: ast.AST) -> str:
    """Last name of a called function."""
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def _opened(node: ast.AST) -> ast.AST:
    """The call that opens what an expression such as `open(x).read()` holds."""
    while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        if node.func.attr not in {"read", "strip", "decode"}:
            break
        node = node.func.value
    return node


def _literal(node: ast.AST | None) -> str | None:
    """Text of a literal, or of `Path("…")`."""
    if isinstance(node, ast.Call) and _called(node.func) == "Path" and len(node.args) == 1:
        node = node.args[0]
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None


def accesses_of_script(code: str, path: str, home: str | None) -> list[Access]:
    """Accesses of running a script stored at `path`."""
    found = python_accesses(code, folder_of(path) or None, home)
    return [access for access in found if access.kind != "write"]
