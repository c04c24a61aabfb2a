"""The notebooks run as they stand, in order, on the public API alone."""

import ast
import os
import re
import shutil
import sys
from pathlib import Path

import pytest

from tests.support.places import ROOT

BOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
ids = [path.stem for path in BOOKS]


def _code(path: Path) -> list[str]:
    import nbformat

    book = nbformat.read(path, as_version=4)
    return [cell.source for cell in book.cells if cell.cell_type == "code"]


def test_there_is_one_for_beginners_one_for_a_study_and_one_for_each_question():
    assert [re.split(r"-", name)[0] for name in ids] == ["1", "2", "3", "4", "5", "6"]
    assert [name[2:5] for name in ids[2:]] == ["rq1", "rq2", "rq3", "rq4"]


@pytest.mark.parametrize("path", BOOKS, ids=ids)
def test_outputs_are_stripped(path):
    import nbformat

    book = nbformat.read(path, as_version=4)
    cells = [cell for cell in book.cells if cell.cell_type == "code"]
    assert [cell.outputs for cell in cells] == [[]] * len(cells)
    assert {cell.execution_count for cell in cells} == {None}


@pytest.mark.parametrize("path", BOOKS, ids=ids)
def test_the_public_api_is_all_that_is_used(path):
    cells = [source for source in _code(path) if not source.startswith("%%")]
    tree = ast.parse("\n".join(cells))
    imported = {
        name
        for node in ast.walk(tree)
        for name in (
            [alias.name for alias in node.names]
            if isinstance(node, ast.Import)
            else [str(node.module)]
            if isinstance(node, ast.ImportFrom)
            else []
        )
    }
    assert imported <= {"skilljuror", "pandas", "pathlib", "shlex"}
    assert not [node for node in ast.walk(tree) if _is_private(node)]


def _is_private(node: ast.AST) -> bool:
    return isinstance(node, ast.Attribute) and node.attr.startswith("_")


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_they_run_in_order(tmp_path, monkeypatch):
    """With a home that holds no logs, so that the sample logs are read, whoever runs this."""
    import nbformat
    from nbclient import NotebookClient

    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    (tmp_path / "trajectories").symlink_to(ROOT / "trajectories")
    shutil.copytree(ROOT / "notebooks", tmp_path / "notebooks")
    figures = {}
    for path in sorted((tmp_path / "notebooks").glob("*.ipynb")):
        book = nbformat.read(path, as_version=4)
        NotebookClient(
            book, timeout=600, resources={"metadata": {"path": str(path.parent)}}
        ).execute()
        answers = [output for cell in book.cells for output in cell.get("outputs", ())]
        assert not [
            output for output in answers if output.get("name") == "stderr" and "rror" in output.text
        ]
        figures[path.stem[:5]] = sum("image/png" in output.get("data", {}) for output in answers)
    assert figures == {"1-sta": 0, "2-a-s": 0, "3-rq1": 1, "4-rq2": 1, "5-rq3": 2, "6-rq4": 1}
    assert len(list((tmp_path / "out" / "demo-tables").glob("*.parquet"))) > 20
