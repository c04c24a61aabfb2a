"""Which lines of which resource a text shows."""

from itertools import pairwise

from hypothesis import example, given, settings
from hypothesis import strategies as st

from skilljuror.events import evidence as content
from skilljuror.events.evidence import (
    LineIndex,
    TextLines,
    merged_ranges,
    text_digest,
    without_line_prefix,
)
from tests.support.attribution_runs import BODY, FORMAT, SKILL
from tests.support.generated_texts import MANY, glued


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


LINES = glued("1", "12", "L1", "→", "\t", "|", "│", ":", ".", ")", "-", " ", "<", "> ", "< ", "a/b.md:", "3:", "x", "\u0661", "²")  # fmt: skip


@MANY
@given(line=LINES)
@example(line="")
@example(line="\u06613→text")
@example(line="L7: text")
def test_a_line_without_number_or_path_is_told_at_a_glance(line):
    found = content._NUMBERED.match(line)
    if not found and line.startswith(("< ", "> ")):
        slow = line[2:].strip()
    else:
        found = found or (content._LOCATED.match(line) if ":" in line else None)
        slow = line[found.end() :].strip() if found else line.strip()
    assert without_line_prefix(line) == slow


FILE = st.lists(
    st.sampled_from(["# A heading of it", "some words that tell", "}", "", "x", "a: b", "other words, too"]),
    min_size=1, max_size=8,
)  # fmt: skip


SHOWN = st.lists(
    st.sampled_from(["# A heading of it", "  some words that tell", "3→}", "", "x", "f.md:7:a: b", "other words, too ", "1 x"]),
    max_size=12,
)  # fmt: skip


@MANY
@given(
    text=SHOWN,
    at=st.integers(0, 20),
    wanted=st.sampled_from(["}", "x", "a: b", "", "other words, too"]),
)
def test_a_line_says_what_it_says_without_blanks_and_marks(text, at, wanted):
    lined = TextLines.of(text)
    if at < len(text):
        slow = text[at].strip() == wanted or without_line_prefix(text[at]) == wanted
        assert lined.says(at, wanted) == slow


@MANY
@given(files=st.lists(FILE, min_size=1, max_size=3), shown=SHOWN)
def test_lines_looked_up_in_one_go_give_the_same_matches(files, shown):
    line_index = LineIndex.of(
        ((("s", f"{number}.md"), "\n".join(lines)) for number, lines in enumerate(files))
    )
    text = TextLines.of(shown)
    hits: dict[content.ResourceKey, list[tuple[int, int]]] = {}
    for at, line in enumerate(text.bare):
        if line in line_index.places or line[:1] in content._NUMBER_MARKS:
            key = line if line in line_index.places else without_line_prefix(line)
            found = line_index.places.get(key, [])
            for one, number in found if len(found) <= content.RARE else ():
                hits.setdefault(one, []).append((at, number))
    slow = {
        key: match for key in sorted(hits) if (match := line_index._match(key, hits[key], text))
    }
    assert line_index.matches(text) == slow


def test_a_text_has_one_digest_however_a_tool_shows_it():
    """With or without front matter, line numbers, blank lines, blanks and line ends."""
    shown = [
        SKILL.splitlines(),
        BODY.splitlines(),
        SKILL.replace("\n", "\r\n").split("\n"),
        [line + "  " for line in ["", *BODY.splitlines(), ""]],
        [f"{n:>6}\t{line}" for n, line in enumerate(SKILL.splitlines(), 1)],
        [f"{n:>5}→{line}" for n, line in enumerate(SKILL.splitlines(), 1)],
    ]
    assert len({text_digest(lines) for lines in shown}) == 1
    assert text_digest(BODY.replace("cents", "euros").splitlines()) != text_digest(shown[0])
    assert text_digest([*BODY.splitlines(), "One more."]) != text_digest(shown[0])
