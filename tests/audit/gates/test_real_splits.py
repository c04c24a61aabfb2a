"""Skills before and after their authors split them: few findings, and none about text that is still there."""

import re
from pathlib import Path
from statistics import median

import pytest

from skilljuror.audit.audit import audit
from skilljuror.skill.revision import load_named
from tests.support.places import SHARED

SPLITS = SHARED / "splits"
pytestmark = [
    pytest.mark.shared,
    pytest.mark.skipif(not SPLITS.is_dir(), reason="../shared/splits is not at hand"),
]


def plain(text: str) -> str:
    """The words of a text, whatever its markup: on purpose not the package's own normalisation."""
    return " ".join(re.findall(r"[a-z0-9]+", text.lower()))


def words_of(folder: Path) -> str:
    pages = sorted(path for path in folder.rglob("*") if path.is_file())
    return f" {' '.join(plain(page.read_text(encoding='utf-8')) for page in pages)} "


@pytest.fixture(scope="module")
def found():
    """(name, the findings that decide, words before, words after) of each split."""
    rows = []
    for split in sorted(path for path in SPLITS.iterdir() if path.is_dir()):
        before, after = split / "before", split / "after"
        parent = load_named(str(before))
        result = audit(parent, load_named(str(after), under="before"), "unclaimed", "rewritten")
        loud = [one for one in result.own if one.severity in {"high", "medium"}]
        rows.append((split.name, loud, words_of(before), words_of(after)))
    return rows


@pytest.mark.slow
def test_a_split_has_few_findings_that_decide(found):
    assert len(found) >= 11
    highs = [sum(one.severity == "high" for one in loud) for _, loud, _, _ in found]
    assert median(highs) <= 3


@pytest.mark.slow
def test_no_finding_is_about_text_that_is_on_the_other_side(found):
    wrong = []
    for name, loud, before, after in found:
        for one in loud:
            lost, added = one.source_text, one.variant_text
            other = after if added is None else before if lost is None else ""
            text = plain((lost if added is None else added) or "")
            if text and f" {text} " in other:
                wrong.append((name, one.rule, text))
    assert not wrong
