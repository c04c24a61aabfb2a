"""One skill of very many files: its folders get guides, and its root keeps within its lines."""

import os
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import PurePosixPath
from posixpath import dirname, join, normpath
from urllib.parse import unquote

import pytest

from skilljuror.bundles.reader import make_bundle
from skilljuror.knowledge.markdown.block_index import markdown_index
from skilljuror.knowledge.plans.render import BundleTexts, rebuild, render
from skilljuror.knowledge.plans.verify import verify
from skilljuror.models.bundle import Blob, Bundle
from skilljuror.models.plan import Plan
from skilljuror.pipeline.construction.audit import audit
from skilljuror.registry import resolve
from skilljuror.transforms import TRANSFORMS
from skilljuror.transforms.disclosure.file_layout import FileLayout
from skilljuror.transforms.disclosure.folder_indexes import RUN_ROWS, FolderIndexes
from skilljuror.transforms.layouts.progressive_disclosure import ROOT_LINES, flat_skill

HEAD = "---\nname: {0}\ndescription: Fires {0}. Use when a kiln is cold.\n---\n# Kilns\n\n"
BODY = (
    "Read the page of the kiln first.\n\n## Steps\n\n1. Look.\n2. Heat.\n\n"
    "## Where to look\n\nSee [kiln 7](references/f7/p7.md) and `references/f9/p9.md`.\n"
)
PAGE = (
    "# Topic {0} of kilns\n\nUse cone {0} when kiln {0} is cold.\n\n## Heat {0}\n\n"
    "Heat it to {0} degrees. Keep the lid shut until the cone bends, and never open it before the "
    "kiln is below 60 degrees. Write the hour into the book of the kiln.{1}\n"
)


def _folders() -> dict[str, str]:
    """400 pages in 20 folders, each with a link into the next folder; one folder has an index."""
    pages = {
        f"k/references/f{n % 20}/p{n}.md": PAGE.format(
            n, f" See [next](../f{(n + 1) % 20}/p{(n + 1) % 400}.md#heat-{(n + 1) % 400})."
        )
        for n in range(400)
    }
    index = {"k/references/f3/README.md": "# Gas kilns\n\nEverything about kilns fired with gas.\n"}
    return {"k/SKILL.md": HEAD.format("k") + BODY, **pages, **index}


CASES = {
    "folders": _folders(),
    "one folder": {
        "k/SKILL.md": HEAD.format("k") + "Look it up.\n",
        **{f"k/references/p{n:03}.md": PAGE.format(n, "") for n in range(400)},
    },
    "no folder": {
        "k/SKILL.md": HEAD.format("k") + "Look it up.\n",
        **{f"k/p{n:03}.md": PAGE.format(n, "") for n in range(400)},
    },
    "deep": {
        "k/SKILL.md": HEAD.format("k") + "Look it up.\n",
        **{f"k/docs/a/{n % 3}/p{n:03}.md": PAGE.format(n, "") for n in range(700)},
    },
    "odd names": {
        "k/SKILL.md": HEAD.format("k") + "Look it up.\n",
        **{f"k/my docs/f({n % 10})/p {n}, x.md": PAGE.format(n, "") for n in range(300)},
        "k/my docs/f(3).md": "# Taken\n\nThis name is taken already.\n",
        "k/scripts/run.py": "print(1)\n",
        "k/LICENSE": "terms\n",
    },
    "union": {
        **{path.replace("k/", "k1/", 1): text for path, text in _folders().items()},
        "k2/SKILL.md": HEAD.format("k2") + "Look it up.\n",
        **{f"k2/q{n:03}.md": PAGE.format(n, "") for n in range(300)},
    },
}


@cache
def _made(name: str) -> tuple[Plan, Bundle, Bundle]:
    """(plan, baseline, pd) of a case."""
    files = {path: Blob(text.encode()) for path, text in CASES[name].items()}
    made = make_bundle("k", files)
    for variant in ("baseline", "pd"):
        parent = made
        plan = resolve(TRANSFORMS, variant, "variant")().plan(parent, {})
        made = make_bundle("k", render(plan, parent))
    return plan, parent, made


def _text(made: Bundle, path: str) -> str:
    return made.files[path].text or ""


def _guides(made: Bundle) -> list[str]:
    root = made.skills[0].path
    table = "\n## Supporting files\n"
    return [path for path in made.files if path != root and table in _text(made, path)]


@pytest.mark.parametrize("name", CASES)
def test_it_is_proved_and_passes_every_gate(name: str) -> None:
    plan, parent, made = _made(name)
    assert verify(plan, parent, made) == ()
    assert rebuild(plan, made.files)[1] == []
    judged = audit(parent, made, "pd", "strict")
    assert [one for one in judged.own if one.severity != "info"] == []
    assert judged.verdict == "pass"


@pytest.mark.parametrize("name", CASES)
def test_root_and_guides_keep_within_the_lines_of_a_root(name: str) -> None:
    _, _, made = _made(name)
    guides = _guides(made)
    assert guides
    for path in [made.skills[0].path, *guides]:
        assert len(_text(made, path).split("\n")) <= ROOT_LINES + 1, path


def _links(made: Bundle, path: str) -> Iterator[str]:
    for token in markdown_index(tuple(_text(made, path).split("\n"))).inline_tokens:
        for child in token.children or ():
            if child.type == "link_open":
                yield unquote(str(child.attrs["href"]))


@pytest.mark.parametrize("name", CASES)
def test_every_link_is_relative_and_leads_to_a_file(name: str) -> None:
    _, _, made = _made(name)
    for path in made.files:
        for link in _links(made, path) if path.endswith(".md") else ():
            target = (
                normpath(join(dirname(path), link.partition("#")[0])) if link[0] != "#" else path
            )
            assert target in made.files, (path, link)


@pytest.mark.parametrize("name", CASES)
def test_every_page_is_reached_from_the_root_by_links(name: str) -> None:
    _, _, made = _made(name)
    guides = {made.skills[0].path, *_guides(made)}
    reached, waiting = set[str](), [made.skills[0].path]
    while waiting:
        path = waiting.pop()
        if path in reached or not path.endswith(".md"):
            continue
        reached.add(path)
        if path in guides:
            links = [link.partition("#")[0] for link in _links(made, path)]
            waiting += [normpath(join(dirname(path), link)) for link in links if link]
    assert reached == {path for path in made.files if path.endswith(".md")}


def test_a_folder_has_one_row_and_its_guide_a_row_with_a_cue_for_each_file() -> None:
    _, _, made = _made("folders")
    rows = [line for line in _text(made, "k/SKILL.md").split("\n") if line.startswith("- [")]
    assert sum("`references/f5/`" in row for row in rows) == 1
    guide = _text(made, "k/references/f5.md")
    assert (
        "- [f5/p25.md](f5/p25.md): read when the task involves Topic 25 of kilns, Heat 25. "
        "Why: Use cone 25 when kiln 25 is cold." in guide
    )


def test_an_index_titles_the_guide_of_its_folder_and_gives_the_reason() -> None:
    _, _, made = _made("folders")
    assert _text(made, "k/references/f3.md").startswith("# Gas kilns\n")
    row = next(line for line in _text(made, "k/SKILL.md").split("\n") if "f3.md]" in line)
    assert row.endswith("Why: Everything about kilns fired with gas.")


def test_a_folder_too_large_for_one_page_has_a_second_level() -> None:
    _, _, made = _made("one folder")
    root, guide = _text(made, "k/SKILL.md"), _text(made, "k/references.md")
    assert "references-1.md" not in root
    assert "[references.md](references.md)" in root
    assert "- [references/references-1.md](references/references-1.md): read first" in guide
    assert "it tells when to open one of: `references/p000.md`, " in guide
    assert "- [p000.md](p000.md): read when" in _text(made, "k/references/references-1.md")


def test_a_name_that_is_taken_is_left_to_its_file() -> None:
    _, _, made = _made("odd names")
    assert _text(made, "k/my docs/f(3).md").startswith("# Taken")
    assert "[f(3)/p 3, x.md](f%283%29/p%203%2C%20x.md)" in _text(made, "k/my docs/f(3)-2.md")


def test_files_of_no_folder_are_named_in_the_root_with_their_guide() -> None:
    _, _, made = _made("no folder")
    root = _text(made, "k/SKILL.md")
    assert all(f"`p{n:03}.md`" in root for n in range(400))


def test_a_skill_that_fits_gets_no_guides() -> None:
    parent = _made("folders")[1]
    plan = resolve(TRANSFORMS, "pd", "variant")().plan(parent, {"root_lines": 100_000})
    assert not any(PurePosixPath(file.path).name == "f5.md" for file in plan.files)


def test_a_page_full_of_text_keeps_its_few_rows() -> None:
    _, _, made = _made("folders")
    shelves = FolderIndexes(
        FileLayout(made, BundleTexts(made.files), flat_skill(made, "pd")[0]), ROOT_LINES
    )
    rows = [("row-terms", {"path": f"terms/{n}.txt"}) for n in range(RUN_ROWS)]
    assert shelves.fitted(rows, 1) == rows
    assert len(shelves.fitted([*rows, ("row-terms", {"path": "terms/last.txt"})], 1)) == 1


def test_titles_of_guides_are_headings() -> None:
    _, _, made = _made("deep")
    for path in _guides(made):
        assert markdown_index(tuple(_text(made, path).split("\n"))).headings[0].level == 1


PRINT = (
    "from tests.transforms.test_shelves import CASES, _made\n"
    "print([_made(name)[2].digest for name in ('folders', 'odd names', 'union')])"
)


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
