"""What words become: braces, variables of one or several values, arrays."""

import pytest

from skilljuror.events.shell.expansion import LIMIT, MOST_BRACES
from skilljuror.events.shell.reader import MOST_WORDS
from tests.support.generated_texts import soon
from tests.support.shell_texts import read_shell


def given(text):
    """The arguments of the last command of a text; "?" for a piece that is not known."""
    last = read_shell(text, "/w", "/h")[-1]
    return [word.text.replace("\0", "?") for word in last.arguments]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("x {a,{b,c}}.md", ["a.md", "b.md", "c.md"]),
        ("x a{,.b}", ["a", "a.b"]),
        ("x {1..3} {a..c} {01..03..2}", ["1", "2", "3", "a", "b", "c", "01", "03"]),
        ("x {a,b}{c,d}", ["ac", "ad", "bc", "bd"]),
        ("x '{a,b}' {a} {} a{b", ["{a,b}", "{a}", "{}", "a{b"]),
        ('y=1; x {$y,"b,c"}/d', ["1/d", "b,c/d"]),
        ("x {a,'b c'}.md", ["a.md", "b c.md"]),
        ("x ~/{a,b}", ["/h/a", "/h/b"]),
        ("x /s/*.{md,txt}", ["/s/*.md", "/s/*.txt"]),
    ],
)
def test_braces(text, expected):
    assert given(text) == expected


@pytest.mark.parametrize(
    "word",
    ["{a,b}" * 40, "{1..99999999}", "{a..z}" * 9, "{1..9}{1..9}{1..9}{1..9}"],
    ids=["pairs", "numbers", "letters", "products"],
)
def test_braces_without_number_are_not_known(word):
    (found, other) = soon(given, f"x {word} y")
    assert "?" in found
    assert other == "y"


def test_braces_that_are_deep_or_long_stay_as_they_are():
    for word in ("{" * 200 + "a", "{a," * 100 + "b" + "}" * 100, "{a,b}" * 2000):
        assert soon(given, f"x {word}") == [word]


def test_many_words_of_braces_are_read_in_part():
    commands = soon(read_shell, f"x {{1..{MOST_BRACES}}}\n" * 2000)
    assert sum(len(one.words) for one in commands) <= MOST_WORDS + MOST_BRACES


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a=p; a+=q; x $a", ["pq"]),
        ("a=*.md; x $a \"$a\"", ["*.md", "*.md"]),
        ("a='p q'; x $a \"$a\" b$a", ["p", "q", "p q", "bp q"]),
        ("x ${a:-p} ${a-q} ${a:+r}s $a", ["p", "q", "?s", "?"]),
        ("b=1; x \"${a:-$b c}\"", ["1 c"]),
        ("a=p; x ${a%b} ${a^^} ${#a} ${!a} ${a:0:1}", ["?", "?", "?", "?", "?"]),
        ("a=(p q); a[2]=r; x ${a[0]} $a", ["?", "?"]),
        ("x $((1+2)) $? $1", ["?", "?", "?"]),
    ],
)  # fmt: skip
def test_variables(text, expected):
    assert given(text) == expected


def test_values_of_a_word_are_cut_off():
    values = " ".join(f"v{n}" for n in range(200))
    assert len(given(f"for f in {values}; do :; done; x $f$f")) == LIMIT


def test_words_of_a_quoted_substitution_are_one():
    text = "x \"$(cat <<'E'\nsee /a.md\nand /b.md\nE\n)\" y"
    assert given(text) == ["see /a.md and /b.md", "y"]
