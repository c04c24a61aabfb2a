"""Python text -> what it opens, imports from a folder it put on `sys.path`, or runs."""

import ast
import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence

from msgspec import field
from msgspec.structs import replace

from skilljuror.attribution.accesses.file_access import OTHER_OUTPUT, UNCERTAIN, Access
from skilljuror.attribution.accesses.line_selection import LineSelection
from skilljuror.attribution.accesses.programs import WHOLE_READERS
from skilljuror.attribution.paths import expand_home, folder_of, is_glob, join
from skilljuror.attribution.python.dataflow import uses_of
from skilljuror.attribution.python.known_functions import (
    COMMON,
    GLOBS,
    LINE_READERS,
    LOADERS,
    MOVERS,
    READERS,
    RUNNERS,
)
from skilljuror.attribution.python.path_values import Choices, Values, choices_of, several
from skilljuror.attribution.python.syntax import MAX_CODE, callee, parsed
from skilljuror.models.events import EventKind

_HEAD = re.compile(r"\[\s*0?\s*:\s*\d+\s*\]")
_PARTS = re.compile(r"\[\s*-?\d*\s*:\s*-?\d*\s*\]|\breadline\(|\bislice\(")
"""Signs that only a part of what is read gets printed."""
_MOST_FOLDERS = 32
"""Folders of the import path that are followed, those put there last."""
_WRITES = re.compile(r"^[rbt+U]*[wax]")


class _Code(Values):
    """What is known while a text is read."""

    folders: list[str] = field(default_factory=list)
    """Folders on the import path that the code or its environment put there."""
    choices: Choices = field(default_factory=dict)
    """Variables that hold one path after the other: of a loop, or of a function that is called."""
    found: list[Access] = field(default_factory=list)
    noted: set[tuple[str, str]] = field(default_factory=set)
    """Path and kind of what was found."""
    reads: dict[int, list[str]] = field(default_factory=dict)
    """`id` of a call that reads -> the paths it reads."""

    def path(self, text: str) -> str:
        """A path seen from where the code runs."""
        return join(self.cwd, expand_home(text, self.home))

    def add(self, path: str, kind: EventKind, **more: object) -> None:
        """Note an access, once per path and kind."""
        access = Access(self.path(path), kind, via="python", bundle_files_only=True)
        access = replace(access, **more)
        if (access.path, access.kind) not in self.noted:
            self.noted.add((access.path, access.kind))
            self.found.append(access)

    def on_path(self, folder: str) -> None:
        """Put a folder at the front of the import path."""
        self.folders.insert(0, self.path(folder))
        del self.folders[_MOST_FOLDERS:]


def python_accesses(
    code: str,
    cwd: str | None,
    home: str | None,
    folders: Sequence[str] = (),
    *,
    echoes: bool = False,
    environment: Mapping[str, str] | None = None,
) -> list[Access]:
    """What a Python text touches; code that does not parse is read line by line for imports.

    `echoes` says that the value of the last line is shown, as a notebook does; `environment`
    holds the variables that the code may ask for.
    """
    state = _Code(cwd, home, folders=[*folders, *([cwd] if cwd else [])])
    state.environment = environment or {}
    tree = parsed(code)
    if tree is None:
        return _by_lines(code, state)
    nodes = list(ast.walk(tree))
    for node in nodes:
        _assignment(node, state)
    state.choices = choices_of(nodes, state)
    for node in nodes:
        if isinstance(node, ast.Call):
            _call(node, state)
    for node in nodes:
        _import(node, state)
    found = _used(tree, state, echoes=echoes)
    if _HEAD.search(code):
        return [_seen(one, replace(one.selection, cut=True)) for one in found]
    if _PARTS.search(code):
        return [_seen(one, one.selection.filtered()) for one in found]
    return found


def _used(tree: ast.Module, state: _Code, *, echoes: bool) -> list[Access]:
    """The accesses, by what becomes of the texts that are read."""
    if not state.reads:
        return state.found
    try:
        uses = uses_of(tree, frozenset(state.reads), echoes=echoes)
    except RecursionError:
        return state.found
    shown: dict[str, str] = {}
    for number, paths in state.reads.items():
        for path in paths:
            how = "run" if number in uses.run else uses.printed.get(number, "none")
            if shown.get(path) != "all":
                shown[path] = how if how != "none" else shown.get(path, how)
    found = [_changed(_shown_as(one, shown.get(one.path, "all")), shown) for one in state.found]
    return [*found, Access("", "mention", note=OTHER_OUTPUT)] if uses.others else found


def _changed(access: Access, read: Mapping[str, str]) -> Access:
    """A file that is read and written is changed."""
    known = access.kind == "write" and access.path in read
    return replace(access, kind="edit") if known else access


def _shown_as(access: Access, how: str) -> Access:
    if access.kind != "read" or access.needs_evidence or how == "all":
        return access
    if how == "part":
        return replace(access, selection=access.selection.filtered())
    if how == "run":
        return replace(access, kind="import", note="its text is run")
    return replace(access, shown=False, note="read and not printed")


def _seen(access: Access, selection: LineSelection) -> Access:
    """A read of which only a part is printed."""
    return replace(access, selection=selection) if access.kind == "read" else access


def _assignment(node: ast.AST, state: _Code) -> None:
    if isinstance(node, ast.Assign) and len(node.targets) == 1:
        target = node.targets[0]
        value = state.value(node.value)
        if isinstance(target, ast.Name) and value is not None:
            state.names.setdefault(target.id, value)
        _path_set(target, node.value, state)
    elif isinstance(node, ast.AugAssign):
        _path_set(node.target, node.value, state)


def _path_set(target: ast.expr, value: ast.expr, state: _Code) -> None:
    """`sys.path += [a]`, `sys.path[:0] = [a]`, `sys.path = [a, *sys.path]`."""
    target = target.value if isinstance(target, ast.Subscript) else target
    if not isinstance(target, ast.Attribute) or target.attr != "path":
        return
    for node in ast.walk(value):
        for item in node.elts if isinstance(node, ast.List | ast.Tuple) else ():
            folder = state.value(item)
            if folder:
                state.on_path(folder)


def _call(node: ast.Call, state: _Code) -> None:
    name = callee(node.func)
    if name in {"append", "insert", "extend"} and _is_path_list(node.func):
        _on_path(node, state)
        return
    handler = _CALLS.get(name)
    if handler is not None:
        handler(node, name, state)


def _is_path_list(func: ast.AST) -> bool:
    """Whether it is `sys.path.append` and not some other list's."""
    return (
        isinstance(func, ast.Attribute)
        and isinstance(func.value, ast.Attribute)
        and func.value.attr == "path"
    )


def _load(node: ast.Call, name: str, state: _Code) -> None:
    """A module loaded by its path."""
    for argument in node.args:
        value = state.value(argument)
        if value and value.endswith(".py"):
            state.add(value, "import")


def _load_named(node: ast.Call, name: str, state: _Code) -> None:
    """A module loaded by a name that is a text."""
    module = state.value(node.args[0]) if node.args else None
    if module and not module.startswith("."):
        _imported(module, state, guess=True)


def _write(node: ast.Call, name: str, state: _Code) -> None:
    """`Path(…).write_text(…)`."""
    target = state.value(node.func.value) if isinstance(node.func, ast.Attribute) else None
    if target:
        state.add(target, "write")


def _on_path(node: ast.Call, state: _Code) -> None:
    for argument in node.args:
        items = argument.elts if isinstance(argument, ast.List) else [argument]
        for item in items:
            value = state.value(item)
            if value:
                state.on_path(value)


def _open(node: ast.Call, name: str, state: _Code) -> None:
    mode = state.value(node.args[1]) if len(node.args) > 1 else None
    writes = name == "open" and mode and _WRITES.match(mode)
    for value in _paths_read(node, state):
        if not value or "\n" in value:
            continue
        if writes:
            state.add(value, "edit" if mode and "a" in mode else "write")
        else:
            state.add(value, "read")
            state.reads.setdefault(id(node), []).append(state.path(value))


def _paths_read(node: ast.Call, state: _Code) -> list[str]:
    """The path that is opened, or each of them where a variable takes several values."""
    value = _path_read(node, state)
    if value is not None:
        return [value]
    return several(node, state.choices, state, lambda: _path_read(node, state))


def _path_read(node: ast.Call, state: _Code) -> str | None:
    value = state.value(node.args[0]) if node.args else None
    if value is None and isinstance(node.func, ast.Attribute):
        value = state.value(node.func.value)
    return value


def _glob(node: ast.Call, name: str, state: _Code) -> None:
    """Files found by a pattern: which of them were printed, the output has to prove."""
    first = state.value(node.args[0]) if node.args else None
    base = state.value(node.func.value) if isinstance(node.func, ast.Attribute) else None
    if name in {"listdir", "scandir", "walk", "iterdir"}:
        folder = first or base
        pattern = f"{folder}/**" if folder else None
    elif base is not None:
        pattern = f"{base}/{'**/' if name == 'rglob' else ''}{first or '*'}"
    else:
        pattern = first
    if pattern and is_glob(pattern):
        state.add(pattern, "read", glob=True, needs_evidence=True)


def _move(node: ast.Call, name: str, state: _Code) -> None:
    """`os.chdir(…)`."""
    folder = state.value(node.args[0]) if node.args else None
    if folder:
        state.cwd = state.path(folder)


def _copy(node: ast.Call, name: str, state: _Code) -> None:
    """`shutil.copy(a, b)`, `os.symlink(a, b)`."""
    given = [state.value(one) for one in node.args[:2]]
    if len(given) < 2 or not given[0] or not given[1]:
        return
    source, link = state.path(given[0]), name in {"symlink", "link"}
    if not link:
        state.add(source, "read", shown=False, note="copied")
    state.add(
        given[1], "write", source=source, bundle_files_only=False, note="link" if link else ""
    )


def _run(node: ast.Call, name: str, state: _Code) -> None:
    """A command line that the code runs: its program, or the script of an interpreter, is run;
    what `cat` and the like are given is read, and printed if the output shows it."""
    if not node.args:
        return
    first = node.args[0]
    items: Iterable[ast.AST] = first.elts if isinstance(first, ast.List | ast.Tuple) else [first]
    texts = [state.value(item) for item in items]
    words = [word for text in texts if text for word in text.split()][:40]
    program = words[0].rpartition("/")[2] if words else ""
    for word in words:
        if "/" not in word or "." not in word.rpartition("/")[2]:
            continue
        if program in WHOLE_READERS or program in LINE_READERS:
            state.add(word, "read", via="shell", shown=_inherits(node))
        elif program not in MOVERS:
            state.add(word, "exec", via="shell")
            return


def _inherits(node: ast.Call) -> bool:
    """Whether what a child process prints goes to the screen."""
    caught = {keyword.arg for keyword in node.keywords} & {"stdout", "capture_output"}
    return not caught and callee(node.func) in {"run", "call", "check_call", "system"}


def _import(node: ast.AST, state: _Code) -> None:
    modules: list[str] = []
    if isinstance(node, ast.Import):
        modules = [alias.name for alias in node.names]
    elif isinstance(node, ast.ImportFrom) and not node.level and node.module:
        modules = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
    for at, module in enumerate(modules):
        _imported(module, state, guess=at == 0 or isinstance(node, ast.Import))


def _imported(module: str, state: _Code, *, guess: bool) -> None:
    """A module may lie in any folder of the path; `guess` says it is one where nobody can check."""
    first = module.partition(".")[0]
    if first in COMMON or first in sys.stdlib_module_names:
        return
    for folder in state.folders:
        path = f"{folder}/{module.replace('.', '/')}.py"
        state.add(path, "import", note="" if guess else UNCERTAIN)


_CALLS: dict[str, Callable[[ast.Call, str, _Code], None]] = {
    **dict.fromkeys(GLOBS, _glob),
    **dict.fromkeys(READERS, _open),
    **dict.fromkeys(RUNNERS, _run),
    **dict.fromkeys(LOADERS, _load),
    **dict.fromkeys(("import_module", "__import__"), _load_named),
    **dict.fromkeys(("write_text", "write_bytes"), _write),
    **dict.fromkeys(("copy", "copy2", "copyfile", "copytree", "symlink", "link"), _copy),
    "chdir": _move,
}
"""What a call does, by the last name of what is called."""
_SYS_PATH = re.compile(r"sys\.path\.(?:append|insert)\((?:0,\s*)?['\"]([^'\"\n]{1,300})['\"]")
_IMPORT = re.compile(
    r"^[ \t]*(?:from\s+([\w.]{1,100})\s+import|import\s+([\w.]{1,100}))", re.MULTILINE
)
_OPEN = re.compile(r"open\(\s*['\"]([^'\"\n]{1,300})['\"]\s*\)")


def _by_lines(code: str, state: _Code) -> list[Access]:
    """The same by patterns, for text that is not whole Python."""
    code = code[:MAX_CODE]
    for folder in _SYS_PATH.findall(code):
        state.on_path(folder)
    for path in _OPEN.findall(code):
        state.add(path, "read")
    for from_name, name in _IMPORT.findall(code):
        _imported(from_name or name, state, guess=True)
    return state.found


def imports_by_script(code: str, path: str, home: str | None) -> list[Access]:
    """What a script written to `path` loads or opens when it runs."""
    return [
        one for one in python_accesses(code, folder_of(path) or None, home) if one.kind != "write"
    ]
