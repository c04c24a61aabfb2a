"""What a file of a Skill is, by its path alone and by its content."""

import pytest

from skilljuror.base.skill import (
    BULK_SUFFIXES,
    CODE_SUFFIXES,
    DATA_SUFFIXES,
    LONG_BYTES,
    Blob,
    class_of,
    resource_class,
)
from tests.support.every import every

PATHS = {
    "SKILL.md": "root", "skill.md": "root", "sub/SKILL.md": "support", "references/a.md": "support",
    "schema.yaml": "support", "scripts/a.py": "code", "run.sh": "code", "scripts/run": "code",
    "scripts/.gitkeep": "support", "Makefile": "code", "assets/a.csv": "data",
    "assets/a.docx": "data", "LICENSE.txt": "data", "licenses/a.LICENSE": "data",
    "fonts/A-OFL.txt": "data", "proofs/a.v": "code", "a.xslt": "data", "page.html": "support",
}  # fmt: skip


@every("path, kind", PATHS.items())
def test_by_path(path, kind):
    assert class_of(path) == kind


@every("path, kind", PATHS.items())
def test_a_short_text_that_says_nothing_else_has_the_class_of_its_path(path, kind):
    assert resource_class(path, Blob(b"a,b\n1,2\n")) == kind


@pytest.mark.parametrize(
    ("path", "blob", "kind"),
    [
        pytest.param("SKILL.md", Blob(b"\0"), "root", id="root"),
        pytest.param("notes.txt", Blob(b"caf\xe9\n"), "data", id="binary"),
        pytest.param("scripts/a.py", Blob(b"\0"), "data", id="binary with a suffix of code"),
        pytest.param("hooks/start", Blob(b"#!/bin/sh\n"), "code", id="shebang"),
        pytest.param("hooks/start", Blob(b"true\n", True), "code", id="executable"),
        pytest.param("notes.md", Blob(b"# Notes\n", True), "support", id="executable Markdown"),
        pytest.param("a.json", Blob(b" " * LONG_BYTES), "support", id="short configuration"),
        pytest.param("a.json", Blob(b" " * (LONG_BYTES + 1)), "data", id="long configuration"),
        pytest.param("a.md", Blob(b" " * (LONG_BYTES + 1)), "support", id="long page"),
    ],
)
def test_content_tells_more(path, blob, kind):
    assert resource_class(path, blob) == kind


def test_a_suffix_stands_in_one_list():
    lists = [CODE_SUFFIXES, DATA_SUFFIXES, BULK_SUFFIXES]
    assert sum(map(len, lists)) == len(frozenset().union(*lists))
