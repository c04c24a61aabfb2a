"""How much of the files that it reads Python code also prints.

Names carry what was read into them, statement by statement; branches and functions are not
separated. A call that passes on a text (`strip`, `splitlines`) carries all of it, one that counts
or hashes carries nothing, and any other carries a part.
"""

import ast
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Literal

from msgspec import Struct, field

from skilljuror.attribution.python.path_values import callee

Portion = Literal["all", "head", "part"]
Carried = Mapping[int, Portion]
"""`id` of a reading node -> portion of its text in an expression."""

_MORE_FIRST: tuple[Portion, ...] = ("all", "head", "part")
_TELL_NOTHING = frozenset(
    {"len", "sum", "int", "float", "bool", "count", "index", "find", "startswith", "endswith", "hexdigest"}
)  # fmt: skip
"""Calls whose value does not reveal a text's wording."""
_GIVE_ALL = frozenset(
    {"read", "readlines", "read_text", "splitlines", "strip", "rstrip", "lstrip", "decode", "str", "list",
     "join", "open", "enumerate"}
)  # fmt: skip
"""Calls that return a whole text."""
_DEEPEST = 60
"""Maximum nesting of expressions and blocks."""


class Printed(Struct):
    """Output of code."""

    reads: frozenset[int]
    """`id` of calls that read a file, or of nodes that represent one."""
    portions: dict[int, Portion] = field(default_factory=dict)
    """Portion printed of each read; missing if not printed."""
    others: bool = False
    """Something other than a file's text is printed."""
    names: dict[str, Carried] = field(default_factory=dict)

    @staticmethod
    def by(tree: ast.Module, reads: Iterable[int], *, echoes: bool = False) -> "Printed":
        """Output of a module for its reads; `echoes` means that its last line's value is shown, as
        in a notebook."""
        printed = Printed(frozenset(reads))
        printed._block(tree.body)
        last = tree.body[-1] if tree.body else None
        if echoes and isinstance(last, ast.Expr):
            printed._show(printed._carried(last.value))
        return printed

    def _block(self, body: Sequence[ast.stmt], depth: int = 0, looping: bool = False, chosen: bool = False) -> None:  # fmt: skip
        """Statements in order; printing under a condition in a loop is a selection, and so a part."""
        for statement in body if depth <= _DEEPEST else ():
            for target, value in _bindings(statement):
                self._bind(target, self._carried(value))
            for call in _calls(statement):
                self._print(call, chosen=chosen)
            inner = looping or isinstance(statement, ast.For | ast.While)
            picks = chosen or (looping and isinstance(statement, ast.If))
            for block in _blocks(statement):
                self._block(block, depth + 1, inner, picks)

    def _bind(self, target: ast.AST, carried: Carried) -> None:
        for node in ast.walk(target):
            if isinstance(node, ast.Name) and carried:
                self.names[node.id] = _most([self.names.get(node.id, {}), carried])

    def _print(self, call: ast.Call, *, chosen: bool) -> None:
        stdout = isinstance(call.func, ast.Attribute) and callee(call.func.value) == "stdout"
        if not (callee(call.func) in {"print", "pprint"} or (stdout and callee(call.func) == "write")):  # fmt: skip
            return
        if any(keyword.arg == "file" for keyword in call.keywords):
            return
        carried = _most(self._carried(argument) for argument in call.args)
        self.others = self.others or bool(call.args and not carried)
        self._show(_part(carried) if chosen else carried)

    def _show(self, carried: Carried) -> None:
        for read, portion in carried.items():
            self.portions[read] = _larger(portion, self.portions.get(read, portion))

    def _carried(self, node: ast.AST | None, depth: int = 0) -> Carried:
        """Portions of reads in an expression."""
        if id(node) in self.reads:
            return {id(node): "all"}
        if node is None or depth > _DEEPEST or isinstance(node, ast.Compare | ast.Constant):
            return {}
        if isinstance(node, ast.Name):
            return self.names.get(node.id, {})
        if isinstance(node, ast.Call):
            return self._call(node, depth)
        carried = _most(self._carried(child, depth + 1) for child in ast.iter_child_nodes(node))
        if isinstance(node, ast.Subscript) and _is_head(node.slice):
            return _part(carried, "head")
        picks = isinstance(node, ast.Subscript | ast.Attribute) or bool(getattr(node, "ifs", None))
        return _part(carried) if picks else carried

    def _call(self, node: ast.Call, depth: int) -> Carried:
        name = callee(node.func)
        if name in _TELL_NOTHING:
            return {}
        given: list[ast.AST] = [*node.args, *(keyword.value for keyword in node.keywords)]
        if isinstance(node.func, ast.Attribute):
            given.append(node.func.value)
        carried = _most(self._carried(argument, depth + 1) for argument in given)
        return carried if name in _GIVE_ALL else _part(carried)


def _most(several: Iterable[Carried]) -> dict[int, Portion]:
    """Merge expressions: the largest portion of each read."""
    found: dict[int, Portion] = {}
    for carried in several:
        for read, portion in carried.items():
            found[read] = _larger(portion, found.get(read, portion))
    return found


def _larger(one: Portion, other: Portion) -> Portion:
    return min(one, other, key=_MORE_FIRST.index)


def _part(carried: Carried, portion: Portion = "part") -> Carried:
    """Limit portions."""
    return {read: max(portion, held, key=_MORE_FIRST.index) for read, held in carried.items()}


def _is_head(node: ast.AST) -> bool:
    """Whether a slice takes the start of a text, or all of it."""
    if not isinstance(node, ast.Slice) or node.step is not None:
        return False
    return node.lower is None or (isinstance(node.lower, ast.Constant) and node.lower.value == 0)


def _bindings(node: ast.stmt) -> Iterator[tuple[ast.AST, ast.AST | None]]:
    """(target, value) of a statement's assignments."""
    if isinstance(node, ast.Assign):
        yield from ((target, node.value) for target in node.targets)
    elif isinstance(node, ast.AnnAssign | ast.AugAssign):
        yield node.target, node.value
    elif isinstance(node, ast.With):
        yield from (
            (item.optional_vars, item.context_expr) for item in node.items if item.optional_vars
        )
    elif isinstance(node, ast.For):
        yield node.target, node.iter


def _calls(node: ast.stmt) -> Iterator[ast.Call]:
    """Calls of a statement, without those in inner blocks."""
    waiting: list[ast.AST] = [node]
    while waiting:
        inner = waiting.pop()
        waiting.extend(c for c in ast.iter_child_nodes(inner) if not isinstance(c, ast.stmt))
        if isinstance(inner, ast.Call):
            yield inner


def _blocks(node: ast.stmt) -> Iterator[Sequence[ast.stmt]]:
    """Blocks inside a statement."""
    for name in ("body", "orelse", "finalbody"):
        yield getattr(node, name, ())
    for handler in getattr(node, "handlers", ()):
        yield handler.body
