"""Which of the files that Python code reads it also prints: the way from a read to a `print`.

A small flow analysis without branches: names carry what was read into them, and a call that
tells something about a text (its length, a hash) carries nothing on. What is worked out of a
text and then printed shows a part of it.
"""

import ast
from collections.abc import Iterable, Mapping
from typing import Literal

from msgspec import Struct, field

from skilljuror.attribution.python.syntax import callee, parsed

Shows = Literal["all", "part"]
Flow = Mapping[int, Shows]
"""Read (the `id` of its call) -> how much of its text an expression carries."""

_BLIND = frozenset(
    {"len", "sum", "int", "float", "bool", "hash", "id", "isinstance", "type", "any", "all", "count", "index",
     "find", "rfind", "startswith", "endswith", "exists", "is_file", "isfile", "isdir", "getsize", "stat",
     "md5", "sha1", "sha256", "hexdigest", "close", "write", "write_text", "write_bytes", "dump",
     "copyfile", "copy2", "exec", "eval", "compile", "range"}
)  # fmt: skip
"""Calls whose value says nothing of a text's wording."""
_ALIKE = frozenset(
    {"read", "readlines", "read_text", "splitlines", "strip", "rstrip", "lstrip", "decode", "encode", "str",
     "list", "join", "open", "expandtabs", "enumerate", "BytesIO", "StringIO", "TextIOWrapper", "copy", "iter"}
)  # fmt: skip
"""Calls that give a whole text on."""
_SINKS = frozenset({
    "print",
    "pprint",
    "pp",
    "display",
    "secho",
    "echo",
    "info",
    "warning",
    "debug",
})
_DEPTH = 60


class _Flows(Struct):
    """What is known while the code is walked."""

    reads: frozenset[int]
    """Calls, by the `id` of their node, that read a file."""
    names: dict[str, dict[int, Shows]] = field(default_factory=dict)
    printed: dict[int, Shows] = field(default_factory=dict)
    run: set[int] = field(default_factory=set)
    """Reads whose text is run as code."""
    others: bool = False
    """Something is printed that comes from no file read."""
    choosing: int = 0
    """Depth of conditions inside loops."""
    looping: int = 0

    def of(self, node: ast.AST | None, depth: int = 0) -> Flow:
        """What an expression carries."""
        if node is None or depth > _DEPTH or isinstance(node, ast.Compare | ast.Constant):
            return {}
        if isinstance(node, ast.Name):
            return self.names.get(node.id, {})
        if isinstance(node, ast.Call):
            return self._call(node, depth)
        if isinstance(node, ast.Subscript):
            found = self.of(node.value, depth + 1)
            return found if _is_head(node.slice) else _part(found)
        if isinstance(node, ast.GeneratorExp | ast.ListComp | ast.SetComp | ast.DictComp):
            return self._comprehension(node, depth)
        inner = _all(self.of(child, depth + 1) for child in ast.iter_child_nodes(node))
        return _part(inner) if isinstance(node, ast.Attribute) else inner

    def _call(self, node: ast.Call, depth: int) -> Flow:
        if id(node) in self.reads:
            return {id(node): "all"}
        name = callee(node.func)
        given = [*node.args, *(keyword.value for keyword in node.keywords)]
        if isinstance(node.func, ast.Attribute):
            given.append(node.func.value)
        found = _all(self.of(one, depth + 1) for one in given)
        if name in _BLIND:
            return {}
        found = found if name in _ALIKE else _part(found)
        return _all([found, self.names.get(f"{name}()", {})])

    def _comprehension(self, node: ast.AST, depth: int) -> Flow:
        chosen = False
        for one in getattr(node, "generators", ()):
            self._bind(one.target, self.of(one.iter, depth + 1))
            chosen = chosen or bool(one.ifs)
        value = getattr(node, "elt", None) or getattr(node, "value", None)
        found = self.of(value, depth + 1)
        return _part(found) if chosen else found

    def _bind(self, target: ast.AST, flow: Flow) -> None:
        for node in ast.walk(target):
            if isinstance(node, ast.Name) and flow:
                self.names[node.id] = dict(_all([self.names.get(node.id, {}), flow]))

    def walk(self, body: Iterable[ast.stmt], owner: str = "") -> None:
        """Statements, in order."""
        for statement in body:
            self._statement(statement, owner)

    def _statement(self, node: ast.stmt, owner: str) -> None:
        if isinstance(node, ast.Assign):
            for target in node.targets:
                self._bind(target, self.of(node.value))
        elif isinstance(node, ast.AnnAssign | ast.AugAssign):
            self._bind(node.target, self.of(node.value))
        elif isinstance(node, ast.With):
            for item in node.items:
                if item.optional_vars is not None:
                    self._bind(item.optional_vars, self.of(item.context_expr))
        elif isinstance(node, ast.For):
            self._bind(node.target, self.of(node.iter))
        elif isinstance(node, ast.Return) and owner:
            self._bind(ast.Name(f"{owner}()"), self.of(node.value))
        self._sinks(node)
        self._inside(node, owner)

    def _inside(self, node: ast.stmt, owner: str) -> None:
        """The statements of a block; a condition inside a loop chooses lines."""
        loop, chosen = isinstance(node, ast.For | ast.While), isinstance(node, ast.If)
        self.looping += loop
        self.choosing += chosen and self.looping > 0
        inner = node.name if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) else owner
        for name in ("body", "orelse", "finalbody"):
            self.walk(getattr(node, name, ()), inner)
        for handler in getattr(node, "handlers", ()):
            self.walk(handler.body, inner)
        self.choosing -= chosen and self.looping > 0
        self.looping -= loop

    def _sinks(self, node: ast.stmt) -> None:
        """Calls of this statement, blocks below it left out, that print or run what they are given."""
        waiting: list[ast.AST] = [node]
        while waiting:
            one = waiting.pop()
            waiting.extend(
                child for child in ast.iter_child_nodes(one) if not isinstance(child, ast.stmt)
            )
            if isinstance(one, ast.Call):
                self._sink(one)

    def _sink(self, node: ast.Call) -> None:
        name = callee(node.func)
        if name in {"exec", "compile", "eval"}:
            self.run.update(_all(self.of(one) for one in node.args))
        elif name in _SINKS or (name in {"write", "writelines"} and _is_stdout(node.func)):
            if any(one.arg == "file" and not _is_stream(one.value) for one in node.keywords):
                return
            found = _all(self.of(one) for one in node.args)
            found = _part(found) if self.choosing else found
            self.others = self.others or not (found or not node.args)
            self.show(found)

    def show(self, flow: Flow) -> None:
        """Note what is printed; the whole of a text outweighs a part."""
        self.printed.update(
            (number, shows)
            for number, shows in flow.items()
            if shows == "all" or number not in self.printed
        )


def _all(flows: Iterable[Flow]) -> Flow:
    """Several flows as one; the whole of a text outweighs a part."""
    found: dict[int, Shows] = {}
    for flow in flows:
        for number, shows in flow.items():
            found[number] = "all" if "all" in {shows, found.get(number)} else "part"
    return found


def _part(flow: Flow) -> Flow:
    return dict.fromkeys(flow, "part") if flow else flow


def _is_head(node: ast.AST) -> bool:
    """Whether a slice takes the beginning: how far it goes is told by the output's end."""
    if not isinstance(node, ast.Slice) or node.step is not None:
        return False
    told = node.upper is None or isinstance(node.upper, ast.Constant)
    return told and _zero(node.lower)


def _zero(node: ast.AST | None) -> bool:
    return node is None or (isinstance(node, ast.Constant) and node.value == 0)


def _is_stdout(func: ast.AST) -> bool:
    return isinstance(func, ast.Attribute) and _is_stream(func.value)


def _is_stream(node: ast.AST) -> bool:
    """`sys.stdout`, `sys.stderr.buffer` and the like."""
    return any(
        isinstance(one, ast.Attribute) and one.attr in {"stdout", "stderr"}
        for one in ast.walk(node)
    )


class Uses(Struct, frozen=True, gc=False):
    """What becomes of the texts that code reads."""

    printed: Mapping[int, Shows]
    run: frozenset[int]
    others: bool = False
    """Something else is printed too."""


def uses_of(tree: ast.Module, reads: frozenset[int], *, echoes: bool = False) -> Uses:
    """How much of every read (the `id` of its call) is printed; `echoes` says that the value of
    the last line is shown."""
    flows = _Flows(reads)
    flows.walk(tree.body)
    last = tree.body[-1] if tree.body else None
    if echoes and isinstance(last, ast.Expr):
        flows.show(flows.of(last.value))
    return Uses(flows.printed, frozenset(flows.run), flows.others)


def prints_input(code: str) -> bool:
    """Whether a Python text prints what it reads from its standard input."""
    tree = parsed(code) if "stdin" in code else None
    if tree is None:
        return False
    lines = any(isinstance(one, ast.For) and _is_input(one.iter) for one in ast.walk(tree))
    if lines:
        return "print" in code or "stdout" in code
    reads = {
        id(one)
        for one in ast.walk(tree)
        if isinstance(one, ast.Call)
        and (_is_input(one.func) or any(_is_input(given) for given in one.args))
    }
    try:
        return bool(uses_of(tree, frozenset(reads)).printed)
    except RecursionError:
        return False


def _is_input(node: ast.AST) -> bool:
    """`sys.stdin`, or a method of it."""
    while isinstance(node, ast.Attribute):
        if node.attr == "stdin":
            return True
        node = node.value
    return isinstance(node, ast.Name) and node.id == "stdin"
