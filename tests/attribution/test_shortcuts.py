"""Shortcuts of the hot path give what the slow forms that they stand for give, whatever the text."""

from hypothesis import example, given, settings
from hypothesis import strategies as st

from skilljuror.attribution.evidence import line_index as content
from skilljuror.attribution.evidence import output_segments as split
from skilljuror.attribution.evidence.line_index import LineIndex, TextLines, without_line_prefix
from skilljuror.attribution.findings import unclaimed_content as content_only
from skilljuror.attribution.paths import contains_any
from skilljuror.attribution.resolution import call_normalisation as spelling
from skilljuror.attribution.resolution import glob_matches as globs
from skilljuror.attribution.resolution import resource_names as names
from skilljuror.attribution.resolution.skill_catalog import SkillCatalog

MANY = settings(max_examples=400, deadline=None)


def glued(*pieces, most=12):
    """Texts made of pieces that come close to what a shortcut looks for, and of anything else."""
    part = st.sampled_from(pieces) | st.text(max_size=3)
    return st.lists(part, max_size=most).map("".join)


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


NAMED = glued("/", "skill", "SKILL", ".md", "led", "x", "é")


@MANY
@given(text=NAMED, words=st.lists(st.text(max_size=2), max_size=3))
def test_holding_any_word(text, words):
    assert contains_any(text, words) == any(word in text for word in words)


@MANY
@given(
    command=glued(
        "\\",
        ":",
        "C:",
        "C:\\a",
        "\\.claude\\",
        "\\skills\\",
        ".codex",
        "\\.agent",
        "$env:HOME",
        "a",
        "$",
    )
)
def test_a_command_with_windows_paths_is_told_at_a_glance(command):
    slow = command
    if spelling._WINDOWS_PATH.search(command):
        slow = spelling._WINDOWS_HOME.sub("$HOME", command).replace("\\", "/")
    assert spelling.with_forward_slashes(command) == slow


@MANY
@given(
    text=glued(
        "a/b.md", "c.md", "/", ".", " ", "\n", "\x85", "\u2028", "\t", "x", ".md", "(", "http://"
    )
)
def test_links_are_looked_for_only_in_lines_that_may_hold_one(text):
    known, slow = SkillCatalog(), SkillCatalog()
    names.learn_linked_names(text, "s", known)
    for path in sorted({path for word in text.split() for path in names._LINK.findall(word)}):
        if "/" in path or path.endswith(".md"):
            slow.add_name("s", path.removeprefix("./"))
    assert known.mentioned == slow.mentioned


@MANY
@given(
    command=glued(
        "git ",
        "diff",
        "-C ",
        "show ",
        "log",
        "tmux",
        "g",
        "gh ",
        "pr ",
        "apply_patch",
        "screen",
        " ",
    )
)
def test_commands_that_show_no_file_are_told_at_a_glance(command):
    assert content_only._is_no_read(command) == bool(content_only._NO_READ.search(command))


@MANY
@given(output=glued("---\n", "\n", "name: x", "name:", "---\r\n", "\r", "a: b\n", "x"))
def test_front_matter_is_looked_for_only_where_a_name_is(output):
    slow = bool(globs._FRONT_MATTER.search(output))
    assert bool(list(globs.paths_by_front_matter("*/SKILL.md", output))) <= slow
    assert slow <= ("\nname:" in output)


@MANY
@given(lines=st.lists(glued("==> ", "--- ", " <==", " ---", "a", " ", most=4), max_size=6))
def test_headings_are_told_by_their_beginning(lines):
    assert split.has_file_headers(lines) == any(split._HEADER.match(line) for line in lines)


@MANY
@given(line=glued("# ", "==", "file: ", "a/b.md", "b.py", ".", " ", ":", "x"))
def test_a_heading_of_a_file_holds_a_dot(line):
    if globs._HEADING.match(line):
        assert "." in line
