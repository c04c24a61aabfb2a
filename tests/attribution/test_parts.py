"""The small parts: shell words, line windows, paths, code, content; and what holds for any input."""

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skilljuror.attribution.accesses.line_selection import WHOLE_FILE, awk_selection, sed_selection
from skilljuror.attribution.attribute import attribute
from skilljuror.attribution.evidence.line_index import LineIndex, TextLines, merged_ranges
from skilljuror.attribution.evidence.terminal_screens import screen_output
from skilljuror.attribution.paths import glob_match, join, normalised
from skilljuror.attribution.python.file_accesses import python_accesses
from skilljuror.attribution.resolution.skill_catalog import SkillCatalog
from skilljuror.attribution.shell.reader import read_shell
from skilljuror.models.trajectory import Message
from tests.support.attribution_runs import FORMAT, MANIFEST, ROOT, SKILL, ran, run_of


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


@pytest.mark.parametrize(
    ("folder", "path", "expected"),
    [
        ("/a", "b/../c", "/a/c"), ("/a", "/b//c/", "/b/c"), ("/a", "~/x", "~/x"), (None, "./b", "b"),
        ("/a", "../../..", "/"), ("a", "../..", ".."),
    ],
)  # fmt: skip
def test_paths_are_joined_and_folded(folder, path, expected):
    assert join(folder, path) == expected


@pytest.mark.parametrize(
    ("pattern", "path", "fits"),
    [
        ("/a/*.md", "/a/b.md", True), ("/a/*.md", "/a/b/c.md", False), ("/a/**/*.md", "/a/b/c.md", True),
        ("/a/**/*.md", "/a/c.md", True), ("/a/**", "/a/b/c", True), ("/a/?.md", "/a/b.md", True),
        ("/a/[bc].md", "/a/c.md", True), ("/a/[!b].md", "/a/b.md", False), ("/a.md", "/axmd", False),
        ("/a/*b*c*.md", "/a/bbcbc.md", True), ("/a/*b*c*.md", "/a/ccb.md", False), ("*/*a/*b", "xa/aa/cb", True),
        ("/**/**/**/**/**/a.md", "/b/a.md", True), ("**/a/**/b/**/c/**/d", "a/b/c/d", False),
        ("*a" * 30 + "b", "a" * 500, False), ("**/a/**/a/**/a/b", "a/" * 250, False),
    ],
)  # fmt: skip
def test_globs(pattern, path, fits):
    assert glob_match(pattern, path) is fits


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("open('a/b').read()", [("read", "/w/a/b")]),
        ("from pathlib import Path\nPath('/a/b').read_text()", [("read", "/a/b")]),
        ("import os\nb = os.path.join('/a', 'b')\nopen(b)", [("read", "/a/b")]),
        ("p = Path('/a') / 'b'\nwith p.open() as f: pass", [("read", "/a/b")]),
        ("open('/a/b', 'w').write('x')", [("write", "/a/b")]),
        ("open(f'{x}/b')", []),
        ("import sys\nsys.path.append('/s')\nimport json, numpy\nimport mine", [("import", "/s/mine.py"), ("import", "/w/mine.py")]),
        ("import subprocess\nsubprocess.run(['python3', '/s/x.py'])", [("exec", "/s/x.py")]),
        ("open('/a/b')\nfrom mine import (", []),
        ("from pathlib import Path\np = Path('/a/b')\nwith p.open('w') as f: pass", [("write", "/a/b")]),
        ("open('/a/b', mode='a')", [("edit", "/a/b")]),
        ("words.append('/s')\nimport mine", [("import", "/w/mine.py")]),
    ],
)  # fmt: skip
def test_what_python_code_touches(code, expected):
    found = [(one.kind, one.path) for one in python_accesses(code, "/w", "/h")]
    assert [one for one in found if one in expected] == expected
    assert len(found) == len(expected)


def test_a_screen_is_cut_to_what_the_command_printed():
    text = "New Terminal Output:\nroot@vm:/a# cat x\none\ntwo\nroot@vm:/a# ls\nx\n\n\n"
    assert screen_output(text, "cat x\n") == "one\ntwo"
    assert screen_output("New Terminal Output:\none\n\n", "cat x") == "one"


def test_content_finds_real_lines_below_decoration():
    line_index = LineIndex.of([(("ledger", "f.md"), FORMAT)])
    shown = [f"{n:>6}\t{line}" for n, line in enumerate(FORMAT.splitlines(), 1)][4:9]
    match = line_index.matches(TextLines.of(["noise", *shown, "<system-reminder>", "x"]))[
        "ledger", "f.md"
    ]
    assert (match.ranges, match.full, match.longest) == (((5, 9),), False, 5)


def test_a_line_of_the_text_belongs_to_one_piece_only():
    line_index = LineIndex.of([(("s", "f"), "a long first line\n}\n}\n}\nthe long last line\n")])
    match = line_index.match(("s", "f"), TextLines.of(["}", "the long last line"]))
    assert match is not None
    assert match.ranges == ((4, 5),)


@given(st.lists(st.tuples(st.integers(1, 60), st.integers(0, 9))))
def test_joined_ranges_hold_the_same_numbers(pairs):
    ranges = [(start, start + more) for start, more in pairs]
    result = merged_ranges(ranges)
    assert {n for a, b in ranges for n in range(a, b + 1)} == {
        n for a, b in result for n in range(a, b + 1)
    }
    assert all(left[1] + 1 < right[0] for left, right in pairwise(result))


@given(st.text(alphabet="ab./~", max_size=30))
def test_a_folded_path_stays_as_it_is(path):
    assert normalised(normalised(path)) == normalised(path)


SHELL = st.lists(
    st.sampled_from(
        ["cat ", "cd ", f"{ROOT}/ledger", "/SKILL.md", "'", '"', "$(", ")", "`", "|", ";", "&&", "\n", "<<E\n",
         "E\n", "{a,b}", "*", "$X", "X=", "for f in ", "; do ", "done", "python3 -c ", "bash -lc ", "xargs ",
         "find . -exec ", "> ", "< ", "\\", "#", " ", "sed -n '1,3p' ", "head -n 2 ", "é", "\0"]
    ),
    max_size=40,
).map("".join)  # fmt: skip


@settings(max_examples=150, deadline=None)
@given(SHELL, st.sampled_from([SKILL, FORMAT, "", "x\n", SKILL + FORMAT]))
def test_any_command_and_output_give_the_same_events_twice(command, output):
    run = run_of(ran(command, output), messages=(Message("main", "other", output, 1, 0),))
    for manifest in (MANIFEST, None):
        events = attribute(run, manifest).events
        assert events == attribute(run, manifest).events
        assert [one.ordinal for one in events] == list(range(len(events)))


@settings(max_examples=100, deadline=None)
@given(st.integers(1, 31), st.integers(0, 31), st.booleans())
def test_a_window_of_a_file_is_found_where_it_stands(start, more, noisy):
    lines = FORMAT.splitlines()
    window = lines[start - 1 : start + more]
    output = "\n".join(["before", *window, "after"] if noisy else window) + "\n"
    line_index = LineIndex.of([(("ledger", "f.md"), FORMAT)])
    match = line_index.match(("ledger", "f.md"), TextLines.of(output.splitlines()))
    assert match is not None
    assert match.ranges == ((start, min(start + more, len(lines))),)


def test_a_catalog_folds_the_names_of_a_skill():
    catalog = SkillCatalog()
    catalog.add_skill("books:ledger", f"{ROOT}/ledger")
    found = {
        catalog.locate(f"{root}/ledger/SKILL.md") for root in (ROOT, "/srv/app/.agents/skills")
    }
    assert {place.skill for place in found if place} == {"books:ledger"}
