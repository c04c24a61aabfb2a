"""From a shell text to its simple commands: words, folders, what is fed and what is shown."""

import pytest

from skilljuror.events.shell.wrappers import MOST_COMMANDS, unwrap
from tests.support.generated_texts import soon
from tests.support.shell_texts import read_shell


def words(text):
    """The words of the commands of a text."""
    return [[word.text for word in one.words] for one in read_shell(text, "/w", "/h")]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a 'b c' \"d e\"", [["a", "b c", "d e"]]),
        (r"a b\ c", [["a", "b c"]]),
        ("a '\"'\"'", [["a", "\"'"]]),
        ("a 'it'\"'\"'s'", [["a", "it's"]]),
        ("a; b && c || d | e & f", [["a"], ["b"], ["c"], ["d"], ["e"], ["f"]]),
        ("a \\\n b", [["a", "b"]]),
        ("a # b", [["a"]]),
        ("X=1; a $X ${X} '$X'", [["a", "1", "1", "$X"]]),
        ("a ${Y:-b}", [["a", "b"]]),
        ("for f in 1 2; do a $f.md; done", [["a", "1.md"], ["a", "2.md"]]),
        ("a {b,c}.md '{d,e}'", [["a", "b.md", "c.md", "{d,e}"]]),
        ("a ~/x $HOME/y $PWD/z", [["a", "/h/x", "/h/y", "/w/z"]]),
        ("a 2>/dev/null >out <in", [["a"]]),
        ("a $'x\\ty'", [["a", "x\ty"]]),
        ("cat <<'E' > f\na; b\nE\nc", [["cat"], ["c"]]),
        ('a "unclosed', [["a", "unclosed"]]),
        ("", []),
    ],
)
def test_words_of_a_shell_text(text, expected):
    assert words(text) == expected


@pytest.mark.parametrize(
    ("text", "folders"),
    [
        ("cd x; a", ["/w", "/w/x"]),
        ("(cd x; a); b", ["/w", "/w/x", "/w"]),
        ("cd x && cd .. && a", ["/w", "/w/x", "/w"]),
        ("cd x; cd -; a", ["/w", "/w/x", "/w"]),
        ("cd $UNKNOWN; a", ["/w", None]),
        ("cd; a", ["/w", "/h"]),
    ],
)
def test_where_a_command_runs(text, folders):
    assert [one.cwd for one in read_shell(text, "/w", "/h")] == folders


def test_a_here_document_is_the_body_of_its_command():
    (command,) = read_shell("cat <<-EOF | b\n\tx $Y\n\tEOF\n")[:1]
    assert command.heredoc == "x $Y\n"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("f() { a; }; b", [["b"]]),
        ("case x in */y.sh) a;; *) b;; esac", [["a"], ["b"]]),
        ("(X=1); a $X", [["a", "\0"]]),
        ("X=$(Y=1; a); b $Y", [["a"], ["b", "\0"]]),
        ("for f in 1 2; do for g in 3 4; do a $f$g; done; done", [["a", "13"], ["a", "14"], ["a", "23"], ["a", "24"]]),
        ("printf '%s\\n' p q | while read -r f; do a $f; done", [["printf", "%s\\n", "p", "q"], ["read", "-r", "f"], ["a", "p", "q"]]),
        ("while read f; do a $f; done <<< 'p q'", [["cat"], ["read", "f"], ["a", "p", "q"]]),
        ("read f <<< p; a $f", [["read", "f"], ["a", "p"]]),
        ("((n = 5)) && a", [["a"]]),
        ("unset X; time a", [["unset", "X"], ["time", "a"]]),
    ],
)  # fmt: skip
def test_what_a_text_runs(text, expected):
    assert words(text) == expected


def test_loops_inside_loops_are_bounded():
    loop = "for a in {1..64}; do "
    assert len(soon(read_shell, f"{loop * 9}x $a;{' done;' * 9}")) <= 64
    inner = 'for b in {1..64}; do eval "for c in {1..64}; do x; done"; done'
    found = soon(
        lambda text: list(unwrap(read_shell(text), None)), f"{loop}bash -c '{inner}'; done"
    )
    assert len(found) <= MOST_COMMANDS


@pytest.mark.parametrize(
    ("text", "flags"),
    [
        pytest.param("a | b; c", [("a", "piped"), ("b", ""), ("c", "")], id="pipe"),
        pytest.param("a || b && c", [("a", ""), ("b", "guarded"), ("c", "")], id="second try"),
        pytest.param(
            "a || { b; c; }",
            [("a", ""), ("b", "guarded"), ("c", "guarded")],
            id="second try of a group",
        ),
        pytest.param("x $(a) && b", [("a", "captured"), ("x", ""), ("b", "")], id="substitution"),
        pytest.param("echo $(a)", [("a", ""), ("echo", "")], id="echoed substitution"),
        pytest.param("echo $(a) > f", [("a", "captured"), ("echo", "")], id="echoed into a file"),
        pytest.param(
            "cat <<E\n$(a)\nE", [("a", ""), ("cat", "")], id="here-document that is printed"
        ),
        pytest.param(
            "x <<E\n$(a)\nE", [("a", "captured"), ("x", "")], id="here-document that is not"
        ),
        pytest.param(
            "{ a; b; } > f",
            [("a", "captured"), ("b", "captured"), ("", "")],
            id="group into a file",
        ),
        pytest.param("{ a; b; } 2>&1", [("a", ""), ("b", "")], id="group with its errors"),
        pytest.param(
            "{ a; b; } | c", [("a", "feeds"), ("b", "feeds"), ("c", "")], id="group into a pipe"
        ),
        pytest.param("x <(a)", [("a", "feeds"), ("x", "")], id="process substitution"),
    ],
)
def test_where_the_output_of_commands_goes(text, flags):
    found = [
        (one.name, " ".join(flag for flag in ("piped", "guarded", "captured") if getattr(one, flag)) + "feeds" * (one.feeds is not None))
        for one in read_shell(text)
    ]  # fmt: skip
    assert found == flags


def test_commands_of_a_pipeline_stay_together():
    found = read_shell("a | b $(x) | while read f; do c; done | d")
    assert [one.name for one in found] == ["x", "a", "b", "read", "c", "d"]
    a, b, read, c, d = (one.pipeline for one in found[1:])
    assert a == b == read
    assert len({a, c, d}) == 3
    assert {one.feeds for one in found[3:5]} == {d}


def test_variables_handed_on_to_programs():
    a, b = read_shell("X=1; export Y=2; Z=3 a; PYTHONPATH=/p; b")
    assert dict(a.environment) == {"Y": "2", "Z": "3"}
    assert dict(b.environment) == {"Y": "2", "PYTHONPATH": "/p"}
