"""Acceptance criteria of a requirement, and the tests that name them. Tests are parsed, never imported."""

import ast
import re
import warnings
from collections.abc import Iterator
from typing import NamedTuple

from skilljuror.skill.markdown.block_index import MarkdownIndex, markdown_index, visible_text

MARK = re.compile(r"(?<![A-Za-z0-9])[Aa][Cc][-_]?(\d{1,3})(?![A-Za-z0-9])")
"""The number of a criterion in a name or text: AC-3, ac_3, AC3."""
_TITLES = re.compile(
    r"acceptance (?:criteria|tests?|conditions)|success criteria|definition of done|criteria(?: of acceptance)?",
    re.IGNORECASE,
)
_ITEM = re.compile(r"^(?:[-*+]|\d+[.)])\s+(?:\[[ xX]\]\s+)?")
_LABEL = re.compile(r"^[*_`\[(]*" + MARK.pattern + r"[*_`\])]*\s*[-–—:.]?\s*")


class Criterion(NamedTuple):
    """One criterion of a requirement."""

    id: str
    """AC-1, AC-2, … in order, or by the labels of the document if each item has its own."""
    text: str
    """Its text, with continuation lines and points below it."""
    line: int
    """1-based line in the document."""


class NamedTest(NamedTuple):
    """A test function of a verifier, and the criteria that it names."""

    name: str
    """Name, after CLASS:: in a class."""
    line: int
    """1-based line in its file."""
    criteria: tuple[str, ...]
    """Criteria in its name, docstring or markers; no other link is made."""


def criteria_of(document: str) -> tuple[Criterion, ...]:
    """Return the criteria of a Markdown document: the items at the margin of its sections of criteria, in order;
    empty without such a section."""
    index = markdown_index(tuple(document.splitlines()))
    sections = [*_sections(index)]
    spans = [
        token.map
        for token in index.tokens
        if token.type == "list_item_open" and token.level == 1 and token.map
    ]
    items = [
        (start, _ITEM.sub("", " ".join(" ".join(index.lines[start:end]).split())))
        for start, end in spans
        if any(low <= start < high for low, high in sections)
    ]
    labels = [int(match[1]) for _, text in items if (match := _LABEL.match(text))]
    labelled = len(items) == len({*labels})
    return tuple(
        Criterion(
            f"AC-{labels[number] if labelled else number + 1}",
            _LABEL.sub("", text, count=1) if labelled else text,
            start + 1,
        )
        for number, (start, text) in enumerate(items)
    )


def _sections(index: MarkdownIndex) -> Iterator[tuple[int, int]]:
    """(first line, line after the last) of the sections of criteria, 0-based."""
    for number, heading in enumerate(index.headings):
        if _TITLES.fullmatch(visible_text(heading.title).strip(" :*_0123456789.")):
            after = (
                one.start for one in index.headings[number + 1 :] if one.level <= heading.level
            )
            yield heading.end, next(after, len(index.lines))


def read_tests(code: str) -> tuple[NamedTest, ...] | None:
    """Return the test functions of a Python file in order; None if it is not valid Python."""
    tree = parsed(code)
    return None if tree is None else tuple(_tests(tree.body, ""))


def parsed(code: str) -> ast.Module | None:
    """Return the syntax tree of a Python file, which is never imported; None if it is not valid Python."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _tests(body: list[ast.stmt], above: str) -> Iterator[NamedTest]:
    for node in body:
        if isinstance(node, ast.ClassDef):
            yield from _tests(node.body, f"{above}{node.name}::")
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith(
            "test"
        ):
            marks = (text for mark in node.decorator_list for text in strings_in(mark))
            said = " ".join([node.name, ast.get_docstring(node) or "", *marks])
            named = dict.fromkeys(f"AC-{int(number)}" for number in MARK.findall(said))
            yield NamedTest(f"{above}{node.name}", node.lineno, tuple(named))


def strings_in(tree: ast.AST) -> Iterator[str]:
    """Yield the string literals of a syntax tree."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value
