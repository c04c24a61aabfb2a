"""The typed tree of a shell text: what the grammar's quirks become, and what of broken text is left."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skilljuror.events.shell import syntax_tree
from skilljuror.events.shell.syntax_tree import (
    DEEPEST,
    MOST_OPERATORS,
    Compound,
    Parameter,
    Parts,
    Script,
    SimpleCommand,
    Text,
)
from tests.support.generated_texts import MANY


def parse(text):
    """The pipelines of a text, of which the end may be unread."""
    return syntax_tree.parse(text)[0]


def word(parts: Parts) -> str:
    """A word in short: quoted text in quotes, parameters in braces."""
    return "".join(map(_piece, parts))


def _piece(part) -> str:
    if isinstance(part, Text):
        return f"'{part.text}'" if part.quoted and part.text else part.text
    if isinstance(part, Parameter):
        return f"{{{part.name}{part.operator}{word(part.operand)}}}"
    return f"{part.opening}{tree(part.script)})"


def tree(script: Script) -> str:
    """A script in short."""
    return "; ".join(
        ("|| " if one.guarded else "") + " | ".join(map(_stage, one.stages)) for one in script
    )


def _stage(stage: SimpleCommand | Compound) -> str:
    if isinstance(stage, SimpleCommand):
        assigned = [
            f"{one.name}{'+' if one.append else ''}={word(one.value)}" for one in stage.assignments
        ]
        streams = [
            f"{one.descriptor}{one.operator}{word(one.target)}" for one in stage.redirections
        ]
        return " ".join([*assigned, *map(word, stage.words), *streams])
    redirected = f" {_stage(stage.streams)}" if stage.streams else ""
    values = f" {stage.name}({' '.join(map(word, stage.values))})" if stage.name else ""
    return f"{stage.kind}{values}({tree(stage.script)}){redirected}"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("a $x/$y.md", "a {x}/{y}.md", id="words parted at a dollar"),
        pytest.param("X=$a/$b.c; d", "X={a}/{b}.c; d", id="values parted at a dollar"),
        pytest.param("a > $x/$y.md b", "a b >{x}/{y}.md", id="targets parted at a dollar"),
        pytest.param('a "$b c"${d}e', "a {b}' c'{d}e", id="quotes inside a word"),
        pytest.param('a " ${b} $(c) "', "a ' '{b}' '$(c)' '", id="spaces inside quotes"),
        pytest.param(r'a \$b "\$c\d"', r"a '$'b '$''c''\''d'", id="escapes"),
        pytest.param("a ${b:-\"c d\"} ${e%/*}", "a {b:-'c d'} {e%/*}", id="operators"),
        pytest.param("a $((1+2)) $[3]", "a {} {}", id="arithmetic"),
        pytest.param("a && b || c; d", "a; b; || c; d", id="operators are flattened"),
        pytest.param("a | b |& c", "a | b | c", id="pipes are flattened"),
        pytest.param("! a | b", "a | b", id="negation"),
        pytest.param("a & b", "subshell(a); b", id="background"),
        pytest.param("(a; b) > c", "subshell(a; b) >c", id="streams of a sub-shell"),
        pytest.param("if a; then b; elif c; then d; else e; fi", "group(a; || b; || c; || d; || e)", id="if"),
        pytest.param("while a; do b; done < c", "group(a; b) <c", id="while"),
        pytest.param("for a in b $c; do d; done", "loop a(b {c})(d)", id="for"),
        pytest.param("for a; do d; done", "loop a({@})(d)", id="for of the arguments"),
        pytest.param("for ((i=0;i<3;i++)); do a; done", "group(a)", id="counted for"),
        pytest.param("case $a in b|c) d;; *) e; f;; esac", "group(|| d; || e; || f)", id="case"),
        pytest.param("f() { a; }; function g { b; }", "", id="functions"),
        pytest.param("if ((n<5)); then a; fi", "group(a)", id="arithmetic command"),
        pytest.param("[[ -f a && b == c ]]", "[[ -f a b == c ]]", id="test"),
        pytest.param("a <(b c) >(d)", "a <(b c) >(d)", id="process substitution"),
        pytest.param("export A=b C", "A=b export C", id="declaration"),
        pytest.param("a $(< b) `< c`", "a $(<b) `<c)", id="file substitution"),
        pytest.param("a 2>&1 >b <<< c", "a 2>&1 >b <<<c", id="redirections"),
        pytest.param("a <<E b | c && d\nx $y\nE\ne", "a b <<'x '{y}'\n' | c; d; e", id="here-document with the rest of its line"),
        pytest.param("a | b <<E\nx\nE\n", "a | b <<'x\n'", id="here-document behind a pipe"),
        pytest.param("a <<'E'\n\n  $x\nE\n", "a <<'\n  $x\n'", id="here-document that is quoted"),
        pytest.param("a <<E; b\nx\nE\nc", "a <<'x\n'; b; c", id="here-document and another command"),
        pytest.param("a\n\\b c", "a; 'b' c", id="command behind a backslash"),
    ],
)  # fmt: skip
def test_trees(text, expected):
    assert tree(parse(text)) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param('a "b c', "a 'b c'", id="quote left open"),
        pytest.param("a 'b(c", "a 'b(c'", id="single quote left open"),
        pytest.param("a <<'E'\nb(\n", "a <<'b(\n'", id="here-document left open"),
        pytest.param("a b)", "a b", id="bracket too many"),
        pytest.param("if a; then b", "a; b", id="if left open"),
        pytest.param("a |", "a", id="pipe into nothing"),
        pytest.param("if (a b) { c d }", "subshell(a b); c d }", id="PowerShell"),
        pytest.param("", "", id="nothing"),
        pytest.param("# a", "", id="comment"),
    ],
)
def test_broken_text_is_read_as_far_as_it_goes(text, expected):
    assert tree(parse(text)) == expected


def test_the_source_of_a_command_ends_before_its_here_document():
    first, second = (one.stages[0] for one in parse("X=1 a 'b' > c <<E\nlong\nE\nd $(e)"))
    assert isinstance(first, SimpleCommand)
    assert isinstance(second, SimpleCommand)
    assert (first.source, second.source) == ("X=1 a 'b' > c <<E", "d $(e)")


def test_unknown_pieces_of_a_text_stay_unknown():
    (pipeline,) = parse("cat \0/a.md 'x\0'")
    (command,) = pipeline.stages
    assert isinstance(command, SimpleCommand)
    assert [word(one) for one in command.words] == ["cat", "\0/a.md", "'x\0'"]


def test_what_is_nested_too_deep_is_left_out():
    found = tree(parse("( " * 100 + "a" + " )" * 100))
    assert found.count("subshell") == DEEPEST


def test_operators_without_number_are_read_in_part():
    text = "a;" * MOST_OPERATORS + "b|" * 2 * MOST_OPERATORS
    stages = [stage for one in parse(text) for stage in one.stages]
    assert MOST_OPERATORS < len(stages) <= 2 * MOST_OPERATORS + 1


SNIPPETS = st.lists(
    st.sampled_from(
        ["cat ", "x", "'", '"', "$(", ")", "`", "|", "||", ";", "&&", "\n", "<<E\n", "E\n", "<<-E\n", "{a,b}", "*", "$X", "X=", "X+=(",
         "for f in ", "; do ", "done", "if ", "then ", "fi", "case x in ", "x) ", ";;", "esac", "f() { ", "}", "((", "))", "[[ ", "]]",
         "${a[", "]}", "<(", "> ", "< ", "<<<", "&", "\\", "#", " ", "é", "\0", "\udc80"]
    ),
    max_size=30,
).map("".join)  # fmt: skip


@MANY
@given(SNIPPETS | st.text())
def test_any_text_has_a_tree(text):
    assert isinstance(tree(parse(text)), str)


def test_a_brace_before_any_character_does_not_end_the_process():
    # Whether one of them ended the process depended on where its memory lay.
    for code in range(0x10000, 0x110000, 0x301):
        for before in ("x", "x ", "", "x\nሳш"):
            assert isinstance(tree(parse(f"{before}{{{chr(code)}")), str)
