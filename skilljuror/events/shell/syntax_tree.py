"""Shell text as a typed syntax tree, parsed by tree-sitter-bash, which tolerates errors.

Hides quirks of its grammar: it splits words at `$`, puts the rest of a line inside its
here-document, and nests statements by operator.
"""

import re
from collections.abc import Container, Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import islice
from typing import Literal, Union

import tree_sitter_bash
from msgspec import Struct
from msgspec.structs import replace
from tree_sitter import Language, Node, Parser

from skilljuror.base.work_budget import charge

MOST_OPERATORS = 4000
"""Maximum operators of a text: parsing long chains of them takes quadratic time."""
MOST_STEPS = 400
"""Maximum hundreds of parser operations for a text; the rest is ignored. Text that is not shell
takes quadratic time. A here-document is one operation."""
_MOST_STEPS_TO_MEND = 200
"""Maximum hundreds of operations for a broken text to be closed and parsed again."""
_SHORT = 4096
"""Bytes of a text too short for counting operations."""
_CHUNK = 1 << 12
DEEPEST = 32
"""Maximum nesting of groups, substitutions and quotes."""


class Text(Struct, frozen=True, gc=False):
    text: str
    quoted: bool = False
    """Whether its wildcards and braces are literal."""


class Parameter(Struct, frozen=True):
    """`$name` or `${name operator…}`. Arithmetic and array elements have no name, and an unknown
    value."""

    name: str
    source: str
    quoted: bool
    operator: str = ""
    """Operation on the value; "!" and "#" precede the name."""
    operand: "Parts" = ()


class Substitution(Struct, frozen=True):
    """`$(…)`, `<(…)` or `>(…)`."""

    opening: str
    script: "Script"
    source: str
    quoted: bool


Part = Union[Text, Parameter, Substitution]  # noqa: UP007
Parts = tuple[Part, ...]
"""A word before expansion."""


class Redirection(Struct, frozen=True):
    """Redirection of a stream: a file, a descriptor, a here-string, a here-document."""

    operator: str
    descriptor: str
    target: Parts


class Assignment(Struct, frozen=True):
    """`name=value` or `name+=value`."""

    name: str
    append: bool
    value: Parts


class SimpleCommand(Struct, frozen=True):
    """A program with its words, or only assignments or redirections."""

    words: tuple[Parts, ...]
    assignments: tuple[Assignment, ...]
    redirections: tuple[Redirection, ...]
    source: str
    """As written, without the bodies of here-documents; at most 400 characters."""


class Compound(Struct, frozen=True):
    """Commands with shared streams. A group is braces or all parts of an `if`, `while` or `case`."""

    kind: Literal["group", "subshell", "loop"]
    script: "Script"
    name: str = ""
    """Variable of a `for`."""
    values: tuple[Parts, ...] = ()
    streams: SimpleCommand | None = None
    """Its redirections, as a command without words."""


class Pipeline(Struct, frozen=True):
    """Stages, each of which feeds the next."""

    stages: "tuple[SimpleCommand | Compound, ...]"
    guarded: bool = False
    """May not run: after `||`, after a test with `&&`, in the body of an `if` or `case`."""


Script = tuple[Pipeline, ...]
"""Pipelines in written order, with any operator between them."""

_NUL = "\ue000"
"""Replaces NUL, for which the parser takes quadratic time."""
_OPERATOR = re.compile(r"[|()<&\[]")
_NESTED = frozenset({
    "expansion",
    "command_substitution",
    "process_substitution",
    "arithmetic_expansion",
})
_WORDS = _NESTED | {
    "word", "number", "string", "raw_string", "ansi_c_string", "translated_string", "concatenation", "array",
    "simple_expansion", "brace_expression", "command_name", "variable_name", "special_variable_name",
    "extglob_pattern", "regex", "string_content", "test_operator",
}  # fmt: skip
_REDIRECTS = frozenset({"file_redirect", "herestring_redirect", "heredoc_redirect"})
_SIMPLE = frozenset({"command", "declaration_command", "unset_command", "variable_assignments"})
_BODIES = frozenset({"compound_statement", "do_group", "subshell"})
_GROUPS = _BODIES | {"if_statement", "while_statement", "case_statement", "c_style_for_statement"}
_OPEN = frozenset(
    {"ERROR", "list", "pipeline", "negated_command", "do_group", "elif_clause", "else_clause"}
)  # fmt: skip
"""Nodes that only contain others."""
_LOOSE = _WORDS | _REDIRECTS
_IN_COMMANDS = _LOOSE | {"variable_assignment", "comment"}
_NO_WORDS = frozenset({"comment", "<<", ")", "`"})
_HEREDOC_PARTS = frozenset({"<<", "<<-", "heredoc_start", "file_descriptor"})
_OPERATORS = frozenset({"&&", "||", "|", "|&", "&", ";"})

_NAME = rb"|\$(?P<name>[A-Za-z_]\w*|[0-9]|[@*#?$!-])|(?P<text>"
_BARE = re.compile(
    rb"'(?P<raw>[^']*)'?|\$'(?P<ansi>(?:\\.|[^\\'])*)'?|(?P<quote>\")|\\(?P<escaped>.)" + _NAME + rb"[^\\$`\"'<>]+|.)",
    re.DOTALL,
)  # fmt: skip
_QUOTED = re.compile(
    rb'(?P<quote>")|\\(?P<escaped>[$`"\\\n])' + _NAME + rb'[^\\$`"]+|.)', re.DOTALL
)
_HEREDOC = re.compile(rb"\\(?P<escaped>[$`\\\n])" + _NAME + rb"[^\\$`]+|.)", re.DOTALL)
_EXPANSION = re.compile(
    rb"\$\{(?P<prefix>[!#]?)(?P<name>[A-Za-z_]\w*|[0-9]+|[@*#?$!-])(?P<operator>:?[-=+?]|[^}]?)",
    re.DOTALL,
)
_ANSI_C = re.compile(r"\\(.)", re.DOTALL)
_CONTROLS = {"n": "\n", "t": "\t", "r": "\r"}
_LANGUAGE = Language(tree_sitter_bash.language())
_ASCII = bytes.maketrans(bytes(range(128, 256)), b"." * 128)
"""What the grammar sees of other characters: it looks up every character after `{` in a table of
digits, and one of a high code point ends the process."""
_DELIMITER = re.compile(r"<<-?[ \t]*['\"]?([A-Za-z_]\w*)['\"]?")


@lru_cache(maxsize=32)
def parse(text: str) -> tuple[Script, bool]:
    """Return a shell text's pipelines, and whether its end was ignored as too long; never raises."""
    over = None
    if len(text) > MOST_OPERATORS:
        over = next(islice(_OPERATOR.finditer(text), MOST_OPERATORS, None), None)
        text = text[: over.start()] if over else text
    text = text.replace("\0", _NUL)
    source, root = _parsed(text)
    cut = over is not None or len(source) < len(text.encode(errors="replace").rstrip())
    return _TreeReader(source).script(root.children), cut


def _tree(source: bytes) -> Node:
    """Parse with a new parser: reusing one after a stop or a callback can crash the process."""
    return Parser(_LANGUAGE).parse(source.translate(_ASCII)).root_node


def _parsed(text: str) -> tuple[bytes, Node]:
    """Return the parsed bytes and their tree. Open quotes and here-documents are closed, and
    `<<word;` becomes `<<word ;`, as the grammar requires."""
    source, root, steps = _counted(text.encode(errors="replace"))
    if root.has_error and steps <= _MOST_STEPS_TO_MEND:
        text = _DELIMITER.sub(r"\g<0> ", text).removesuffix("\n")
        for closing in ("'", '"', *(f"\n{name}\n" for name in _DELIMITER.findall(text)[-1:]), ""):
            source = (text + closing).encode(errors="replace")
            root = _tree(source)
            if not root.has_error:
                break
    return source, root


def _counted(source: bytes) -> tuple[bytes, Node, int]:
    """Return the parsed bytes, their tree, and hundreds of parser operations used."""
    steps = end = 0

    def stop(offset: int, _: bool) -> bool:
        nonlocal steps, end
        steps, end = steps + 1, offset
        return steps > MOST_STEPS

    def chunk(offset: int, _: object) -> bytes:
        return source[offset : offset + _CHUNK].translate(_ASCII)

    if len(source) <= _SHORT:
        return source, _tree(source), 0
    try:
        root = Parser(_LANGUAGE).parse(chunk, progress_callback=stop).root_node
    except ValueError:  # the parser was stopped
        source = source[:end]
        root = _tree(source)
    charge(10 * steps * steps)
    return source, root, steps


class _TreeReader(Struct):
    """Converts the nodes of one text into statements and words."""

    source: bytes
    depth: int = 0

    def text(self, start: int, end: int) -> str:
        return _decoded(self.source[start:end])

    def script(self, nodes: Iterable[Node]) -> Script:
        """Pipelines of consecutive statements; words left over by an error form a command."""
        found: list[Pipeline] = []
        operator = ""
        ahead: list[Node | None] = []
        ahead.extend([*nodes][::-1] if self.depth < DEEPEST else [])
        self.depth += 1
        while ahead:
            node = ahead.pop()
            if node is None:
                continue
            if node.type in _OPEN:
                ahead.extend(node.children[::-1])
            elif node.type in _OPERATORS:
                operator = node.type
                if operator == "&" and found:
                    found[-1] = Pipeline((Compound("subshell", (found[-1],)),))
            elif node.is_named:
                operator = _join(found, operator, self._statement(node, ahead))
        self.depth -= 1
        return tuple(found)

    def _statement(self, node: Node, ahead: list[Node | None]) -> Script:
        """Pipelines of a statement, which may extend into the nodes ahead."""
        body = [one for one in node.children if one.type not in _REDIRECTS]
        streams = [one for one in node.children if one.type in _REDIRECTS]
        if node.type in _LOOSE:
            ahead.append(node)
        elif node.type in _SIMPLE or node.type == "variable_assignment":
            ahead.extend([None, *(node.children if node.type in _SIMPLE else [node])[::-1]])
        elif node.type == "test_command":
            words = [one for one in _descend(body, _WORDS) if one.type not in _OPERATORS]
            ahead.extend([None, *words[::-1]])
        elif node.type != "redirected_statement":
            compound = self._compound(node)
            return (Pipeline((compound,)),) if compound else ()
        elif not body or body[0].type in _SIMPLE:
            parts = [*(part for one in body for part in one.children), *streams]
            ahead.extend([None, *sorted(parts, key=lambda one: -one.start_byte)])
        else:
            found = self.script(body)
            ahead.extend([None, *streams[::-1]])
            taken = self._taken(ahead)
            return _with_streams(found, self._command(taken)) if taken else found
        taken = self._taken(ahead)
        return (Pipeline((self._command(taken),)),) if taken else ()

    def _taken(self, ahead: list[Node | None]) -> list[Node]:
        """Words, assignments and redirections ahead, up to the end of a simple command. After
        `<<word` they may continue, and the next statement may begin."""
        taken: list[Node] = []
        while ahead and (node := ahead.pop()):
            kind = node.type
            broken = taken and self.source.startswith(b"\n", node.start_byte)
            if kind in _OPEN:
                ahead.extend(node.children[::-1])
            elif broken or kind in _OPERATORS or (node.is_named and kind not in _IN_COMMANDS):
                ahead.append(node)
                break
            elif kind not in _NO_WORDS and node.end_byte > node.start_byte:
                taken.append(node)
                end = self._body_start(node) - 1 if kind == "heredoc_redirect" else 0
                line = [one for one in node.children[::-1] if one.start_byte < end]
                ahead.extend(one for one in line if one.type not in _HEREDOC_PARTS)
        return taken

    def _compound(self, node: Node) -> Compound | None:
        """None for arithmetic, and for a function: its calls are those of an unknown program."""
        kind, children = node.type, node.children
        bodies = [one for one in children if one.type in _BODIES]
        if kind == "for_statement":
            head = [one for one in children if one.type in _WORDS]
            name = self.text(*head[0].byte_range) if head else ""
            given = any(one.type == "in" for one in children)
            values = tuple(map(self._parts, _glued(head[1:])))
            arguments = ((Parameter("@", "$@", quoted=True),),)
            return Compound("loop", self.script(bodies), name, values if given else arguments)
        if kind not in _GROUPS or children[0].type == "((":
            return None
        if kind == "c_style_for_statement":
            children = bodies
        elif kind == "case_statement":
            items = [one.children for one in children if one.type == "case_item"]
            children = [one for item in items for one in _behind(item, ")")]
        script = self.script(children)
        at = {"if_statement": 1, "case_statement": 0}.get(kind, len(script))
        script = (*script[:at], *(replace(one, guarded=True) for one in script[at:]))
        return Compound("subshell" if kind == "subshell" else "group", script)

    def _command(self, nodes: Sequence[Node]) -> SimpleCommand:
        words: list[list[Node]] = []
        assigned: list[tuple[Node, list[Node]]] = []
        redirected: list[tuple[Node, list[Node]]] = []
        run: list[Node] = []
        for node in nodes:
            if node.type == "variable_assignment":
                run = node.children[2:]
                assigned.append((node, run))
            elif node.type == "heredoc_redirect":
                run = []
                redirected.append((node, run))
            elif node.type in _REDIRECTS:
                run, *others = _glued(one for one in node.children if one.type in _WORDS) or [[]]
                redirected.append((node, run))
                words.extend(others)
            elif run and run[-1].end_byte == node.start_byte:
                run.append(node)
            else:
                run = [node]
                words.append(run)
        start, last = nodes[0].start_byte, nodes[-1]
        end = (_delimiter(last) if last.type == "heredoc_redirect" else last).end_byte
        return SimpleCommand(
            tuple(map(self._parts, words)),
            tuple(self._assignment(node, value) for node, value in assigned),
            tuple(self._redirection(node, target) for node, target in redirected),
            self.text(start, min(end, start + 1600))[:400].strip(),
        )

    def _assignment(self, node: Node, value: Sequence[Node]) -> Assignment:
        name, operator, *_ = node.children
        text = self.text(*(name.children or [name])[0].byte_range)
        array = name.children or (value and value[0].type == "array")
        parts = (Parameter("", "", quoted=False),) if array else self._parts(value)
        return Assignment(text, operator.type == "+=", parts)

    def _redirection(self, node: Node, target: Sequence[Node]) -> Redirection:
        numbers = [one for one in node.children if one.type == "file_descriptor"]
        operator = next((one.type for one in node.children if not one.is_named), "")
        if self.source.endswith(b"<<", 0, node.start_byte):
            operator = "<<<"  # The grammar cannot parse one after another redirection.
        parts = self._heredoc(node) if node.type == "heredoc_redirect" else self._parts(target)
        return Redirection(operator, "".join(self.text(*one.byte_range) for one in numbers), parts)

    def _body_start(self, heredoc: Node) -> int:
        """Start of a here-document's body: the line after its delimiter's."""
        end = self.source.find(b"\n", _delimiter(heredoc).end_byte)
        return end + 1 if end >= 0 else len(self.source)

    def _heredoc(self, node: Node) -> Parts:
        start, last = self._body_start(node), node.children[-1]
        end = last.start_byte if last.type == "heredoc_end" else node.end_byte
        if set(self.text(*_delimiter(node).byte_range)) & set("'\"\\"):
            return (Text(self.text(start, end), quoted=True),)
        return self._between(start, end, [node], _HEREDOC)

    def _parts(self, nodes: Sequence[Node]) -> Parts:
        """The word that nodes form together."""
        if not nodes:
            return ()
        start = nodes[0].start_byte + self.source.startswith(b"\n", nodes[0].start_byte)
        return self._between(start, nodes[-1].end_byte, nodes)

    def _between(
        self, start: int, end: int, nodes: Iterable[Node], pieces: re.Pattern[bytes] = _BARE
    ) -> Parts:
        """Parts of the text between two bytes; the nodes contain what is nested."""
        found: list[Part] = []
        ahead = [
            one
            for one in _descend(nodes, _NESTED)
            if one.type in _NESTED and start <= one.start_byte < end
        ][::-1]
        while start < end:
            quoted = pieces is not _BARE
            if ahead and ahead[-1].start_byte <= start and self.source[start] in b"$`<>":
                node = ahead.pop()
                found.append(self._nested_part(node, start, quoted=quoted))
                start = max(start + 1, node.end_byte)
                continue
            piece = pieces.match(self.source, start, end)
            assert piece is not None
            start = piece.end()
            kind, text = piece.lastgroup, _decoded(piece[piece.lastgroup or 0])
            if kind == "name":
                found.append(Parameter(text, f"${text}", quoted))
            elif kind == "quote":
                pieces = _BARE if quoted else _QUOTED
                found.append(Text("", quoted=True))
            elif kind == "ansi":
                plain = _ANSI_C.sub(lambda one: _CONTROLS.get(one[1], one[1]), text)
                found.append(Text(plain, quoted=True))
            elif (kind, text) != ("escaped", "\n"):
                found.append(Text(text, quoted=quoted or kind != "text"))
        return tuple(found)

    def _nested_part(self, node: Node, start: int, *, quoted: bool) -> Part:
        """Meaning of an expansion or substitution; its node may begin before it."""
        source = self.text(start, node.end_byte)
        if node.type == "arithmetic_expansion" or self.depth > DEEPEST:
            return Parameter("", source, quoted)
        if node.type != "expansion":
            return Substitution(node.children[0].type, self.script(node.children), source, quoted)
        found = _EXPANSION.match(self.source, start)
        if found is None:
            return Parameter("", source, quoted)
        self.depth += 1
        operand = self._between(found.end(), node.end_byte - 1, node.children)
        self.depth -= 1
        operator = _decoded(found["prefix"] or found["operator"])
        return Parameter(_decoded(found["name"]), source, quoted, operator, operand)


def _decoded(text: bytes) -> str:
    return text.decode(errors="replace").replace(_NUL, "\0")


def _join(found: list[Pipeline], operator: str, statements: Script) -> str:
    """Append statements after an operator; return the remaining operator."""
    if not statements:
        return operator
    first, *rest = statements
    if operator in {"|", "|&"} and found:
        found[-1] = replace(found[-1], stages=found[-1].stages + first.stages)
    else:
        guarded = operator == "||" or (operator == "&&" and _follows_test(found))
        found.append(replace(first, guarded=guarded or first.guarded))
    found.extend(rest)
    return ""


def _follows_test(found: Sequence[Pipeline]) -> bool:
    """Whether the pipelines end with a test, and what depends on it."""
    sure = next((one for one in reversed(found) if not one.guarded), None)
    return sure is not None and getattr(sure.stages[-1], "source", "").startswith(("[", "test "))


def _descend(nodes: Iterable[Node], kinds: Container[str]) -> Iterator[Node]:
    """First nodes of these kinds on the way down, and other leaves, in order."""
    stack = [*nodes][::-1]
    while stack:
        node = stack.pop()
        if node.type in kinds or not node.child_count:
            yield node
        else:
            stack.extend(node.children[::-1])


def _glued(nodes: Iterable[Node]) -> list[list[Node]]:
    """Group adjacent nodes into words."""
    words: list[list[Node]] = []
    for node in nodes:
        if words and words[-1][-1].end_byte == node.start_byte:
            words[-1].append(node)
        else:
            words.append([node])
    return words


def _behind(nodes: Sequence[Node], mark: str) -> Sequence[Node]:
    """Nodes after the first of a kind."""
    return nodes[next((at for at, one in enumerate(nodes) if one.type == mark), -1) + 1 :]


def _delimiter(heredoc: Node) -> Node:
    return next((one for one in heredoc.children if one.type == "heredoc_start"), heredoc)


def _with_streams(script: Script, streams: SimpleCommand) -> Script:
    """Add redirections that the grammar puts around all pipelines to the last stage."""
    *before, last = script or (Pipeline((Compound("group", ()),)),)
    *stages, stage = last.stages
    if isinstance(stage, Compound):
        inner = stage if stage.streams is None else Compound("group", (Pipeline((stage,)),))
        return (*before, replace(last, stages=(*stages, replace(inner, streams=streams))))
    stage = SimpleCommand(
        stage.words + streams.words,
        stage.assignments,
        stage.redirections + streams.redirections,
        f"{stage.source} {streams.source}"[:400],
    )
    return (*before, replace(last, stages=(*stages, stage)))
