import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skilljuror.harness.agents import reading
from skilljuror.harness.agents.reading import Blank, Page, words


def page(text, path="x.md"):
    made = Page(path)
    made.add(dict(enumerate(text.split("\n"), 1)), whole=True)
    return made


def stated(text):
    return {
        (statement.name, statement.about): statement.value for statement in page(text).statements
    }


@pytest.mark.parametrize(
    ("text", "name", "about", "value"),
    [
        ("- Cut-off: 3.5", "cut-off", "", "3.5"),
        ("- Field separator: `semicolon` (never a comma)", "field separator", "", "semicolon"),
        ("- Page lines: 18, counting lines only", "page lines", "", "18"),
        ("Severity of an unknown class: `minor`", "severity", "unknown class", "minor"),
        ("The limit for small files is `12`.", "limit", "small files", "12"),
        ("LIMIT = 12  # files", "limit", "", "12"),
        ("| a | gain |\n|---|---|\n| K-2 | 1.5 |", "gain", "K-2", "1.5"),
        ("| a | b | c |\n|---|---|---|\n| gain | 1 | 2 |", "gain", "c", "2"),
        ("| name | value |\n|---|---|\n| gain | 7 |", "gain", "", "7"),
    ],
)
def test_what_a_text_states_is_found_by_its_shape(text, name, about, value):
    assert stated(text)[words(name), words(about)] == value


def test_headings_go_with_a_fact_and_code_has_none():
    text = "# A\n## B\n- x one: 1\n```\n# no heading\ny two = 2\n```\n## C\n- z three: 3"
    assert [statement.headings for statement in page(text).statements] == [
        ("A", "B"),
        ("A", "B"),
        ("A", "C"),
    ]


def test_a_table_without_its_header_says_nothing():
    assert page("| K-2 | 1.5 |\n| K-3 | 1.7 |").statements == []


CODE = "## Helper implementation for `scripts/a.py`\n\n```python\ndef f(x):\n    return x\n```\n"


def test_code_counts_only_when_it_was_seen_to_its_end():
    assert page(CODE).blocks == {"scripts/a.py": "def f(x):\n    return x"}
    assert page(CODE.removesuffix("```\n")).blocks == {}


def test_a_gap_in_what_was_printed_joins_nothing():
    made = Page("x.md")
    lines = dict(enumerate(CODE.split("\n"), 1))
    made.add({number: line for number, line in lines.items() if number != 4})
    assert made.blocks == {}
    made.add({4: lines[4]})
    assert set(made.blocks) == {"scripts/a.py"}


def test_a_command_carries_the_words_around_it():
    ((command, script, cue),) = page("## Checks\nTry it\n```sh\npython3 a/b.py <in>\n```").commands
    assert (command, script) == ("python3 a/b.py <in>", "a/b.py")
    assert words("checks try") <= cue


@pytest.mark.parametrize(
    ("hint", "value", "fits"),
    [
        ("one of: lf, crlf", "crlf, also at the end", "crlf"),
        ("one of: lf, crlf", "CRLF", "crlf"),
        ("one of: lf, crlf", "mac", None),
        ("number: of lines", "12 minutes", "12"),
        ("number", "-0.6", "-0.6"),
        ("number", "none", None),
        ("", "carried forward", "carried forward"),
    ],
)
def test_a_blank_takes_only_what_has_its_shape(hint, value, fits):
    assert Blank("f", "key", hint).fit(value) == fits


def test_blanks_are_found_and_filled():
    text = 'a = # number\nB = None  # one of: x, y\nc = 1\ndef f(line):\n    """Doc."""\n    ...\n'
    a, b, f = reading.blanks("f.py", text)
    assert [a.key, b.key, f.key, f.hint] == ["a", "B", "f", "line"]
    done = reading.filled(reading.filled(text, a, "4"), b, "x")
    done = reading.filled(done, f, "def f(line):\n    return 1")
    assert reading.blanks("f.py", done) == []
    space: dict[str, object] = {}
    exec(done, space)
    assert (space["a"], space["B"], space["c"]) == (4, "x", 1)


@given(st.text())
def test_any_text_can_be_read(text):
    made = page(text)
    assert all(1 <= statement.line <= len(made.seen) for statement in made.statements)
    assert reading.blanks("f", text) == reading.blanks("f", text)


HOSTILE = [" " * 20_000, "a " * 20_000, "a=" + " " * 20_000 + "x", "|" * 20_000, "`" * 20_000,
           "a/" * 20_000, ". " * 20_000, "# " + " " * 20_000, "def f(x):\n" + "    \n" * 20_000,
           "python3 " * 5_000, "x is `" * 5_000]  # fmt: skip


@pytest.mark.parametrize("text", HOSTILE, ids=lambda text: repr(text[:12]))
def test_hostile_lines_take_no_time(text):
    begun = time.perf_counter()
    page(f"```\n{text}\n```\n{text}")
    reading.blanks("f.py", text)
    reading.commands(text)
    reading.mentions(text)
    assert time.perf_counter() - begun < 2
