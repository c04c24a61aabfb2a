"""The pages add-a-* name every file that an addition inside the tree needs: followed in a copy of the tree."""

import shutil
import subprocess

import pytest

from tests.support.doc_pages import change_tree, fenced_blocks
from tests.support.places import ROOT

PAGES = [
    page
    for page in sorted((ROOT / "docs").glob("add-a*.md"))
    if any("tree" in block.attributes for block in fenced_blocks(page))
]


def copy_tree(target):
    listed = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    files = subprocess.run(listed, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for name in files.split("\0"):
        if name and (ROOT / name).is_file():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, target / name)


def test_questions_gates_formats_metrics_and_judges_are_added():
    kinds = {page.stem.removeprefix("add-a-") for page in PAGES}
    assert kinds >= {"question", "gate", "format", "metric", "judge"}


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_an_addition_needs_what_its_page_says(page, tmp_path):
    """Its last commands are the contract tests, which find the addition by themselves."""
    tree = tmp_path / "skilljuror"
    copy_tree(tree)
    change_tree(page, tree)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("page", "left_out", "said"),
    [
        ("gate", "tests/support/planted_drift.py", "PLANTS in tests/support/planted_drift.py"),
        ("format", "docs/fields_page.py", "NOTES"),
        ("metric", "docs/formulas.md", "formulas.md"),
    ],
)
def test_a_step_left_out_is_named(page, left_out, said, tmp_path):
    source = ROOT / "docs" / f"add-a-{page}.md"
    text = source.read_text(encoding="utf-8").replace(f"diff tree={left_out}", f"diff {left_out}")
    shorter = tmp_path / source.name
    shorter.write_text(text, encoding="utf-8")
    tree = tmp_path / "skilljuror"
    copy_tree(tree)
    with pytest.raises(AssertionError, match=said):
        change_tree(shorter, tree)
