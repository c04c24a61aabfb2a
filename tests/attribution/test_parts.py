"""The small parts: shell words, line windows, paths, code, content; and what holds for any input."""

import pytest

from skilljuror.attribution.accesses.line_selection import WHOLE_FILE, awk_selection, sed_selection
from skilljuror.attribution.shell.reader import read_shell


def words(text, **more):
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
    assert command.heredoc == "\tx $Y\n"


@pytest.mark.parametrize(
    ("view", "spans"),
    [
        (WHOLE_FILE.head(5), ((1, 5),)),
        (WHOLE_FILE.head(5).tail(2), ((4, 5),)),
        (WHOLE_FILE.since(4).head(3), ((4, 6),)),
        (WHOLE_FILE.within(((2, 9),)).within(((3, 4),)), ((4, 5),)),
        (sed_selection("1,220p", silent=True), ((1, 220),)),
        (sed_selection("3p;7,$p", silent=True), ((3, 3), (7, None))),
        (sed_selection("1,4d", silent=False), ((5, None),)),
        (sed_selection("20q", silent=False), ((1, 20),)),
        (awk_selection("NR>3 && NR<8"), ((4, 7),)),
        (awk_selection("NR==5"), ((5, 5),)),
        (awk_selection("FNR==2,FNR==6"), ((2, 6),)),
    ],
)
def test_line_windows(view, spans):
    assert (view.ranges, view.by_content) == (spans, False)


@pytest.mark.parametrize("script", ["/a/,/b/p", "/x/d", "$d"])
def test_windows_that_only_the_output_tells(script):
    view = sed_selection(script, silent=script.endswith("p"))
    assert view is not None
    assert view.by_content
