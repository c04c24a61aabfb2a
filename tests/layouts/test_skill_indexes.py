"""A union of many skills: one row for each skill in the root, and an index behind each row."""

import pytest

from skilljuror.base.skill import Bundle
from tests.support.laid_out import built


@pytest.fixture(scope="module")
def made() -> Bundle:
    return built("union", "pd")[2]


def _text(made: Bundle, path: str) -> str:
    return made.files[path].text or ""


def test_the_root_holds_a_row_for_each_skill_with_its_description(made: Bundle) -> None:
    rows = [line for line in _text(made, "union/SKILL.md").split("\n") if line.startswith("- ")]
    (row,) = [row for row in rows if "bench-05" in row]
    assert row.startswith(
        "- [bench-05.md](bench-05.md): read first for bench-05: Repairs case 5 at the bench. Use when case 5"
    )


def test_an_index_holds_its_configuration_and_routes_to_its_files(made: Bundle) -> None:
    index = _text(made, "union/bench-05.md")
    assert index.startswith("# bench-05\n\nConfiguration for `bench-05`:\n")
    assert "[the page](bench-05/notes.md)" in index
    assert "bench-06" not in index


def test_links_of_an_index_lead_to_files_that_are_there(made: Bundle) -> None:
    index = _text(made, "union/bench-05.md")
    assert "[the page](bench-05/notes.md)" in index
    assert "union/bench-05/notes.md" in made.files


def test_a_link_to_a_folder_of_a_skill_leads_there_from_its_index(made: Bundle) -> None:
    assert "[all scripts](bench-05/scripts)" in _text(made, "union/bench-05.md")


def test_an_index_takes_no_name_that_a_file_has(made: Bundle) -> None:
    assert _text(made, "union/bench-03.md").startswith("# House rules")
    assert _text(made, "union/bench-03-2.md").startswith("# bench-03\n")


def test_data_that_nothing_names_has_no_row(made: Bundle) -> None:
    assert all("table.csv" not in (blob.text or "") for blob in made.files.values())


def test_a_description_that_the_file_spells_otherwise_is_left_out_of_its_row(made: Bundle) -> None:
    row = next(line for line in _text(made, "union/SKILL.md").split("\n") if "bench_odd" in line)
    assert row.endswith("read first for bench_odd.")
