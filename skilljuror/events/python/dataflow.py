"""How much of the files that it reads Python code also prints.

Names carry what was read into them, statement by statement; branches and functions are not
separated. A call that passes on a text (`strip`, `splitlines`) carries all of it, one that counts
or hashes carries nothing, and any other carries a part.
"""

import ast
from collections.abc import Iterable, Iterator, Mapping

from msgspec import Struct, field

from skilljuror.events.python.path_values import callee

Carried = Mapping[int, bool]
"""`id` of a reading node -> whether an expression holds all of its text, or a part."""

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
"""Maximum nesting of expressions."""


class Printed(Struct):
    """Output of code."""

    reads: frozenset[int]
    """`id` of calls that read a file, or of nodes that represent one."""
    portions: dict[int, bool] = field(default_factory=dict)
    """Whether all of a read's text is printed, or a part; missing if nothing is."""
    others: bool = False
    """Something other than a file's text is printed."""
    names: dict[str, Carried] = field(default_factory=dict)

    @staticmethod
    def by(tree: ast.Module, reads: Iterable[int], *, echoes: bool = False) -> "Printed":
        """Output of a module for its reads; `echoes` means that its last line's value is shown, as
        in a notebook. Printing under a condition in a loop is a selection, and so a part."""
        printed = Printed(frozenset(reads))
        waiting: list[tuple[ast.AST, bool, bool]] = [(tree, False, False)]
        while waiting:
            node, looping, chosen = waiting.pop()
            for target, value in _bindings(node):
                printed._bind(target, printed._carried(value))
            if isinstance(node, ast.Call):
                printed._print(node, chosen=chosen)
            chosen = chosen or (looping and isinstance(node, ast.If))
            looping = looping or isinstance(node, ast.For | ast.While)
            inner = [(child, looping, chosen) for child in ast.iter_child_nodes(node)]
            waiting.extend(reversed(inner))
        last = tree.body[-1] if tree.body else None
        if echoes and isinstance(last, ast.Expr):
            printed._show(printed._carried(last.value))
        return printed

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
        self._show(dict.fromkeys(carried, False) if chosen else carried)

    def _show(self, carried: Carried) -> None:
        for read, whole in carried.items():
            self.portions[read] = whole or self.portions.get(read, False)

    def _carried(self, node: ast.AST | None, depth: int = 0) -> Carried:
        """Reads whose text is in the value of an expression."""
        if id(node) in self.reads:
            return {id(node): True}
        if node is None or depth > _DEEPEST or isinstance(node, ast.Compare | ast.Constant):
            return {}
        if isinstance(node, ast.Name):
            return self.names.get(node.id, {})
        if isinstance(node, ast.Call) and callee(node.func) in _TELL_NOTHING:
            return {}
        carried = _most(self._carried(child, depth + 1) for child in ast.iter_child_nodes(node))
        if isinstance(node, ast.Call):
            whole = callee(node.func) in _GIVE_ALL
        else:
            whole = not (isinstance(node, ast.Subscript) or getattr(node, "ifs", None))
        return carried if whole else dict.fromkeys(carried, False)


def _most(several: Iterable[Carried]) -> dict[int, bool]:
    """Merge expressions: the larger portion of each read."""
    found: dict[int, bool] = {}
    for carried in several:
        for read, whole in carried.items():
            found[read] = whole or found.get(read, False)
    return found


def _bindings(node: ast.AST) -> Iterator[tuple[ast.AST, ast.AST | None]]:
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
