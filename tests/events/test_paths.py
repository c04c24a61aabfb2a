"""Paths as text: joining, folding and globs."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skilljuror.events.access import contains_any, glob_fits, join, normalised
from tests.support.generated_texts import MANY, glued


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
    ],
)  # fmt: skip
def test_globs(pattern, path, fits):
    assert bool(glob_fits(pattern)(path)) is fits


@given(st.text(alphabet="ab./~", max_size=30))
def test_a_folded_path_stays_as_it_is(path):
    assert normalised(normalised(path)) == normalised(path)


NAMED = glued("/", "skill", "SKILL", ".md", "led", "x", "é")


@MANY
@given(text=NAMED, words=st.lists(st.text(max_size=2), max_size=3))
def test_holding_any_word(text, words):
    assert contains_any(text, words) == any(word in text for word in words)
