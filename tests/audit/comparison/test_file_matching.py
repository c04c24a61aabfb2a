"""Files are paired in as many steps as there are files."""

import pytest

from skilljuror.audit.comparison import file_matching
from skilljuror.audit.edits import edits_between
from tests.support.knowledge_bundles import skill


def test_files_are_paired_without_trying_all_with_all(monkeypatch: pytest.MonkeyPatch) -> None:
    tried: list[tuple[str, str]] = []
    is_tail = file_matching.is_tail

    def counted(one: str, two: str) -> bool:
        tried.append((one, two))
        return is_tail(one, two)

    monkeypatch.setattr(file_matching, "is_tail", counted)
    before = skill("Text.\n", **{f"data/{n}.bin": f"{n}" for n in range(400)})
    after = skill("Text.\n", **{f"more/data/{n}.bin": f"{n}" for n in range(400)})
    found = edits_between(before, after).files.altered
    assert [pair.change for pair in found] == ["renamed"] * 400
    assert len(tried) <= 4 * 400
