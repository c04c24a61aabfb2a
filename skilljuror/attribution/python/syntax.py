"""Python code parsed tolerantly, and the names of what it calls."""

import ast

MAX_CODE = 400_000
"""Characters of code that are read; more is not written by an agent."""


def parsed(code: str) -> ast.Module | None:
    """The tree of a Python text; None for what does not parse, or is too long."""
    if len(code) > MAX_CODE:
        return None
    try:
        return ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def callee(node: ast.AST) -> str:
    """The last name of what is called."""
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""
