"""One skill of very many files: its folders get indexes, and its root keeps within its lines."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import PurePosixPath
from posixpath import dirname, join, normpath
from urllib.parse import unquote

import pytest

from skilljuror.build.audit import audit
from skilljuror.knowledge.markdown.block_index import markdown_index
from skilljuror.knowledge.plans.render import rebuild
from skilljuror.knowledge.plans.verify import verify
from skilljuror.models.bundle import Bundle
from skilljuror.registry import resolve
from skilljuror.transforms import TRANSFORMS
from skilljuror.transforms.disclosure.file_layout import FileLayout
from skilljuror.transforms.disclosure.index_pages import RUN_ROWS, FolderIndexes
from skilljuror.transforms.layouts.progressive_disclosure import ROOT_LINES, flat_skill
from tests.support.many_files import MANY_FILES, made_of


def _text(made: Bundle, path: str) -> str:
    return made.files[path].text or ""


def _index_pages(made: Bundle) -> list[str]:
    root = made.skills[0].path
    table = "\n## Supporting files\n"
    return [path for path in made.files if path != root and table in _text(made, path)]


each = pytest.mark.parametrize(
    "name",
    [pytest.param(one, marks=() if one == "folders" else pytest.mark.slow) for one in MANY_FILES],
)
"""The largest takes half a minute to build."""


@each
def test_it_is_proved_and_passes_every_gate(name: str) -> None:
    plan, parent, made = made_of(name)
    assert verify(plan, parent, made) == ()
    assert rebuild(plan, made.files)[1] == []
    judged = audit(parent, made, "pd", "strict")
    assert [one for one in judged.own if one.severity != "info"] == []
    assert judged.verdict == "pass"


@each
def test_root_and_indexes_keep_within_the_lines_of_a_root(name: str) -> None:
    _, _, made = made_of(name)
    indexes = _index_pages(made)
    assert indexes
    for path in [made.skills[0].path, *indexes]:
        assert len(_text(made, path).split("\n")) <= ROOT_LINES + 1, path


def _links(made: Bundle, path: str) -> Iterator[str]:
    for token in markdown_index(tuple(_text(made, path).split("\n"))).inline_tokens:
        for child in token.children or ():
            if child.type == "link_open":
                yield unquote(str(child.attrs["href"]))


@each
def test_every_link_is_relative_and_leads_to_a_file(name: str) -> None:
    _, _, made = made_of(name)
    for path in made.files:
        for link in _links(made, path) if path.endswith(".md") else ():
            target = (
                normpath(join(dirname(path), link.partition("#")[0])) if link[0] != "#" else path
            )
            assert target in made.files, (path, link)


@each
def test_every_page_is_reached_from_the_root_by_links(name: str) -> None:
    _, _, made = made_of(name)
    indexes = {made.skills[0].path, *_index_pages(made)}
    reached, waiting = set[str](), [made.skills[0].path]
    while waiting:
        path = waiting.pop()
        if path in reached or not path.endswith(".md"):
            continue
        reached.add(path)
        if path in indexes:
            links = [link.partition("#")[0] for link in _links(made, path)]
            waiting += [normpath(join(dirname(path), link)) for link in links if link]
    assert reached == {path for path in made.files if path.endswith(".md")}


def test_a_folder_has_one_row_and_its_index_a_row_with_a_cue_for_each_file() -> None:
    _, _, made = made_of("folders")
    rows = [line for line in _text(made, "k/SKILL.md").split("\n") if line.startswith("- [")]
    assert sum("`references/f5/`" in row for row in rows) == 1
    index = _text(made, "k/references/f5.md")
    assert (
        "- [f5/p25.md](f5/p25.md): read when the task involves Topic 25 of kilns, Heat 25. "
        "Why: Use cone 25 when kiln 25 is cold." in index
    )


def test_an_overview_titles_the_index_of_its_folder_and_gives_the_reason() -> None:
    _, _, made = made_of("folders")
    assert _text(made, "k/references/f3.md").startswith("# Gas kilns\n")
    row = next(line for line in _text(made, "k/SKILL.md").split("\n") if "f3.md]" in line)
    assert row.endswith("Why: Everything about kilns fired with gas.")


def test_a_folder_too_large_for_one_page_has_a_second_level() -> None:
    _, _, made = made_of("one folder")
    root, index = _text(made, "k/SKILL.md"), _text(made, "k/references.md")
    assert "references-1.md" not in root
    assert "[references.md](references.md)" in root
    assert "- [references/references-1.md](references/references-1.md): read first" in index
    assert "it tells when to open one of: `references/p000.md`, " in index
    assert "- [p000.md](p000.md): read when" in _text(made, "k/references/references-1.md")


def test_a_name_that_is_taken_is_left_to_its_file() -> None:
    _, _, made = made_of("odd names")
    assert _text(made, "k/my docs/f(3).md").startswith("# Taken")
    assert "[f(3)/p 3, x.md](f%283%29/p%203%2C%20x.md)" in _text(made, "k/my docs/f(3)-2.md")


def test_files_of_no_folder_are_named_in_the_root_with_their_index() -> None:
    _, _, made = made_of("no folder")
    root = _text(made, "k/SKILL.md")
    assert all(f"`p{n:03}.md`" in root for n in range(400))


def test_a_skill_that_fits_gets_no_index_pages() -> None:
    parent = made_of("folders")[1]
    plan = resolve(TRANSFORMS, "pd", "variant")().plan(parent, {"root_lines": 100_000})
    assert not any(PurePosixPath(file.path).name == "f5.md" for file in plan.files)


def test_a_page_full_of_text_keeps_its_few_rows() -> None:
    _, _, made = made_of("folders")
    folders = FolderIndexes(FileLayout(flat_skill(made, "pd")), ROOT_LINES)
    rows = [("row-terms", {"path": f"terms/{n}.txt"}) for n in range(RUN_ROWS)]
    assert folders.fitted(rows, 1) == rows
    assert len(folders.fitted([*rows, ("row-terms", {"path": "terms/last.txt"})], 1)) == 1


def test_titles_of_indexes_are_headings() -> None:
    _, _, made = made_of("deep")
    for path in _index_pages(made):
        assert markdown_index(tuple(_text(made, path).split("\n"))).headings[0].level == 1


PRINT = (
    "from tests.support.many_files import made_of\n"
    "print([made_of(name)[2].digest for name in ('folders', 'odd names', 'union')])"
)


@pytest.mark.slow
def test_the_seed_of_hashes_plays_no_part() -> None:
    told = {
        subprocess.run(
            [sys.executable, "-c", PRINT],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True, text=True, check=True,
        ).stdout
        for seed in ("1", "2")
    }  # fmt: skip
    assert len(told) == 1
