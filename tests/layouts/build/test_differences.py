"""Every unit of the source is in exactly one passage, and a person can see where it went."""

import pytest

from skilljuror.base.errors import StudyError
from skilljuror.base.files import read_jsonl
from skilljuror.layouts.build.build import build_source
from skilljuror.layouts.build.differences import differences
from skilljuror.report.page import write_differences
from tests.support.places import ROOT

SOURCE = ROOT / "examples" / "skills" / "shop-reporting"


@pytest.fixture(scope="module")
def build(tmp_path_factory):
    target = tmp_path_factory.mktemp("build") / "b"
    build_source(SOURCE, target)
    return target


def test_passages_hold_every_unit_once(build):
    found = differences(build, "baseline", "pd")
    units = [text for passage in found.passages for text in passage.units]
    assert sorted(units) == sorted(
        row["unit"]["text"] for row in read_jsonl(build / "knowledge.jsonl")
    )
    assert found.units == len(units)
    assert len(found.passages) < len(units) / 3


def test_a_flat_variant_has_one_file_and_pd_has_several(build):
    found = differences(build, "baseline", "pd")
    flat = {passage.a.file for passage in found.passages if passage.a}
    disclosed = {passage.b.file for passage in found.passages if passage.b}
    assert len(flat) == 1 < len(disclosed)
    assert found.moved > 0


def test_the_source_compared_with_itself_moves_nothing(build):
    found = differences(build, "source", "source")
    assert (found.moved, found.lost_a, found.lost_b) == (0, 0, 0)
    assert all(passage.a == passage.b for passage in found.passages)


def test_an_unknown_variant_is_named_with_the_choices(build):
    with pytest.raises(StudyError, match=r"'flat'.*baseline"):
        differences(build, "flat", "pd")


def test_the_page_escapes_what_skills_say(build, tmp_path):
    write_differences(differences(build, "baseline", "pd"), tmp_path / "d.html")
    page = (tmp_path / "d.html").read_text(encoding="utf-8")
    assert "&lt;cut-off&gt;" in page
    assert "<cut-off>" not in page
    assert "http" not in page.split("<body>")[0]
