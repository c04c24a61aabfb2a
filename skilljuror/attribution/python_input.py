"""Python text that is fed by a pipe: whether it prints what it is given."""

import ast

from skilljuror.attribution.printed import uses_of
from skilljuror.attribution.python_code import parsed


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
