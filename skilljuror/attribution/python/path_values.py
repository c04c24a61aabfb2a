"""Paths that Python expressions stand for, as far as the code itself tells."""

import ast
from collections.abc import Callable, Iterable, Mapping, Sequence

from msgspec import Struct, field

from skilljuror.attribution.paths import expand_home, join
from skilljuror.attribution.python.syntax import callee

LONGEST = 10_000
"""Characters of a text that is put together; a longer one is no path, and `a = a + a` over and
over would fill the memory."""


class Values(Struct):
    """What is known of a code's variables."""

    cwd: str | None
    home: str | None
    environment: Mapping[str, str] = field(default_factory=dict)
    """Variables of the environment."""
    names: dict[str, str] = field(default_factory=dict)
    """Variables that hold a path."""

    def value(self, node: ast.AST | None, depth: int = 0) -> str | None:
        """The text of an expression that is a path, as far as it can be told."""
        if depth > 20:
            return None
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            return node.value
        if isinstance(node, ast.Name):
            return self.names.get(node.id)
        if isinstance(node, ast.BinOp):
            return self._joined(node, depth)
        if isinstance(node, ast.JoinedStr):
            return self._formatted(node, depth)
        if isinstance(node, ast.Call):
            return self._called(node, depth)
        if isinstance(node, ast.Subscript):
            return self._looked_up(self.value(node.slice, depth + 1), node.value)
        return None

    def _looked_up(self, name: str | None, owner: ast.AST) -> str | None:
        """`os.environ[name]`."""
        if name == "HOME":
            return self.home or "~"
        asked = getattr(owner, "attr", getattr(owner, "id", None)) == "environ"
        value = self.environment.get(name) if asked and name else None
        return value if value and "\0" not in value else None

    def _asked_for(self, func: ast.expr, arguments: list[str | None]) -> str | None:
        """`os.getenv(name, default)`, `os.environ.get(name, default)`."""
        owner = ast.Name("environ") if callee(func) == "getenv" else getattr(func, "value", func)
        found = self._looked_up(arguments[0], owner)
        environ = getattr(owner, "attr", getattr(owner, "id", None)) == "environ"
        return arguments[1] if found is None and environ and len(arguments) > 1 else found

    def _joined(self, node: ast.BinOp, depth: int) -> str | None:
        left, right = self.value(node.left, depth + 1), self.value(node.right, depth + 1)
        if left is None or right is None:
            return None
        if isinstance(node.op, ast.Div):
            return _path([left, right])
        return _whole([left, right]) if isinstance(node.op, ast.Add) else None

    def _formatted(self, node: ast.JoinedStr, depth: int) -> str | None:
        pieces = [
            self.value(part.value if isinstance(part, ast.FormattedValue) else part, depth + 1)
            for part in node.values
        ]
        known = [piece for piece in pieces if piece is not None]
        return _whole(known) if len(known) == len(pieces) else None

    def _called(self, node: ast.Call, depth: int) -> str | None:
        """`Path(x)`, `os.path.join(a, b)`, `expanduser(x)` and the like."""
        name = callee(node.func)
        arguments = [self.value(argument, depth + 1) for argument in node.args]
        if (
            name in {"Path", "PurePath", "str", "abspath", "realpath", "fspath", "expandvars"}
            and arguments
        ):
            return arguments[0]
        if name == "expanduser" and isinstance(node.func, ast.Attribute):
            given = arguments[0] if arguments else self.value(node.func.value, depth + 1)
            return expand_home(given, self.home) if given else None
        if name == "home" and not arguments:
            return self.home or "~"
        if name in {"get", "getenv"} and arguments:
            return self._asked_for(node.func, arguments)
        known = [argument for argument in arguments if argument is not None]
        if name in {"join", "joinpath"} and known and len(known) == len(arguments):
            return self._glued(node, name, known, depth)
        if name in {"resolve", "absolute", "as_posix"} and isinstance(node.func, ast.Attribute):
            return self.value(node.func.value, depth + 1)
        return None

    def _glued(self, node: ast.Call, name: str, known: list[str], depth: int) -> str | None:
        base = None
        if name == "joinpath" and isinstance(node.func, ast.Attribute):
            base = self.value(node.func.value, depth + 1)
        return _path([base, *known])


def _whole(pieces: list[str]) -> str | None:
    """The pieces as one text, where it is not too long."""
    return "".join(pieces) if sum(map(len, pieces)) <= LONGEST else None


def _path(pieces: list[str | None]) -> str | None:
    """The pieces as one path, where it is not too long; the first may be missing."""
    if sum(len(piece) for piece in pieces if piece) > LONGEST:
        return None
    base = pieces[0]
    for piece in pieces[1:]:
        base = join(base, piece or "")
    return base


_MOST = 32
"""Values of one variable that are followed."""

Choices = dict[str, list[str]]


def choices_of(nodes: Sequence[ast.AST], values: Values) -> Choices:
    """Variables of loops over a written list, parameters of functions called by name, and what
    is put together from them."""
    functions = {node.name: node for node in nodes if isinstance(node, ast.FunctionDef)}
    lists = _lists(nodes)
    choices: Choices = {}
    for node in nodes:
        if isinstance(node, ast.For | ast.comprehension) and isinstance(node.target, ast.Name):
            _choose(choices, node.target.id, _texts(_items(node.iter, lists), values))
        elif isinstance(node, ast.Call) and callee(node.func) in functions:
            parameters = functions[callee(node.func)].args.args
            for parameter, value in zip(parameters, node.args, strict=False):
                _choose(choices, parameter.arg, _texts([value], values))
    if choices:
        for node in nodes:
            _derive(node, choices, values)
    return choices


def _lists(nodes: Sequence[ast.AST]) -> Mapping[str, Sequence[ast.AST]]:
    """Variables that hold a written list."""
    return {
        node.targets[0].id: node.value.elts
        for node in nodes
        if isinstance(node, ast.Assign)
        and isinstance(node.targets[0], ast.Name)
        and isinstance(node.value, ast.List | ast.Tuple)
    }


def _items(node: ast.AST, lists: Mapping[str, Sequence[ast.AST]]) -> Sequence[ast.AST]:
    if isinstance(node, ast.Name):
        return lists.get(node.id, ())
    return node.elts if isinstance(node, ast.List | ast.Tuple) else ()


def _texts(items: Iterable[ast.AST], values: Values) -> list[str]:
    return [value for item in items if (value := values.value(item)) is not None]


def _choose(choices: Choices, name: str, more: Sequence[str]) -> None:
    known = choices.setdefault(name, [])
    known.extend(more)
    del known[_MOST:]


def _derive(node: ast.AST, choices: Choices, values: Values) -> None:
    """`path = folder / name` where `name` holds one value after the other."""
    if not isinstance(node, ast.Assign) or not isinstance(node.targets[0], ast.Name):
        return
    target = node.targets[0].id
    if target in values.names or target in choices:
        return
    found = several(node.value, choices, values, lambda: values.value(node.value))
    if found:
        choices[target] = found[:_MOST]


def several(
    node: ast.AST, choices: Choices, values: Values, ask: Callable[[], str | None]
) -> list[str]:
    """What an expression is for each value of a variable in it that holds several."""
    found: list[str] = []
    inside = {one.id for one in ast.walk(node) if isinstance(one, ast.Name)}
    for name in sorted(inside & choices.keys() - values.names.keys()):
        for choice in choices[name]:
            values.names[name] = choice
            chosen = ask()
            found.extend([chosen] if chosen else [])
        values.names.pop(name, None)
    return found
