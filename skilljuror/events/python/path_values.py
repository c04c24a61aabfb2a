"""Paths that Python expressions evaluate to, as far as the code alone tells."""

import ast

from msgspec import Struct, field

from skilljuror.events.paths import join

LONGEST = 10_000
"""Maximum characters of a computed text; longer ones are not paths, and repeated `a = a + a` would
exhaust memory."""
_DEEPEST = 20
"""Maximum nesting of expressions."""
_OF_ARGUMENT = frozenset(
    {"Path", "PurePath", "str", "abspath", "realpath", "fspath", "expanduser", "expandvars"}
)  # fmt: skip
"""Calls that return their path argument."""
_OF_OWNER = frozenset({"resolve", "absolute", "expanduser", "as_posix"})
"""Methods of a path that return the same path."""


def callee(node: ast.AST) -> str:
    """Last name of a called function."""
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


class PathValues(Struct):
    """Values of variables and expressions that are paths."""

    home: str | None
    names: dict[str, str] = field(default_factory=dict)
    """Variable -> first path or text assigned to it."""

    def assign(self, node: ast.Assign) -> None:
        target = node.targets[0]
        if len(node.targets) == 1 and isinstance(target, ast.Name):
            value = self.of(node.value)
            if value is not None:
                self.names.setdefault(target.id, value)

    def of(self, node: ast.AST | None, depth: int = 0) -> str | None:
        """Text of an expression; None if the code alone does not determine it."""
        if depth > _DEEPEST:
            return None
        if isinstance(node, ast.Constant):
            return node.value if isinstance(node.value, str) else None
        if isinstance(node, ast.Name):
            return self.names.get(node.id)
        if isinstance(node, ast.BinOp):
            pieces = [self.of(node.left, depth + 1), self.of(node.right, depth + 1)]
            if isinstance(node.op, ast.Div):
                return _joined(pieces)
            return _glued(pieces) if isinstance(node.op, ast.Add) else None
        if isinstance(node, ast.JoinedStr):
            values = [getattr(part, "value", None) for part in node.values]
            return _glued([v if isinstance(v, str) else self.of(v, depth + 1) for v in values])
        return self._call(node, depth) if isinstance(node, ast.Call) else None

    def _call(self, node: ast.Call, depth: int) -> str | None:
        """`Path(x)`, `os.path.join(a, b)`, `x.resolve()` and similar."""
        name = callee(node.func)
        arguments = [self.of(argument, depth + 1) for argument in node.args]
        owner = node.func.value if isinstance(node.func, ast.Attribute) else None
        if name in _OF_ARGUMENT and arguments:
            return arguments[0]
        if name == "home" and not arguments:
            return self.home or "~"
        if name == "join" and len(arguments) > 1:
            return _joined(arguments)
        if name == "joinpath":
            return _joined([self.of(owner, depth + 1), *arguments])
        return self.of(owner, depth + 1) if name in _OF_OWNER else None


def _known(pieces: list[str | None]) -> list[str]:
    """The pieces if all are known and not too long together, else []."""
    known = [piece for piece in pieces if piece is not None]
    return known if len(known) == len(pieces) and sum(map(len, known)) <= LONGEST else []


def _glued(pieces: list[str | None]) -> str | None:
    return "".join(_known(pieces)) or None


def _joined(pieces: list[str | None]) -> str | None:
    path: str | None = None
    for piece in _known(pieces):
        path = piece if path is None else join(path, piece)
    return path
