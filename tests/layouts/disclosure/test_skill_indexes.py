"""A union of many skills: one row for each skill in the root, and an index behind each row."""

from pathlib import PurePosixPath

import pytest

from skilljuror.audit.plans.render import render
from skilljuror.audit.plans.verify import verify
from skilljuror.base.skill import Bundle
from skilljuror.layouts.layouts.progressive_disclosure import ProgressiveDisclosure
from tests.support.bundle_corpus import TRAPS
from tests.support.laid_out import built

BENCHES = sorted({
    path.split("/")[0]
    for path in TRAPS["union"]
    if path.startswith("bench-0") and path.endswith("/SKILL.md")
})


@pytest.fixture(scope="module")
def made() -> Bundle:
    return built("union", "pd")[2]


def _text(made: Bundle, path: str) -> str:
    return made.files[path].text or ""


def test_the_root_holds_a_row_for_each_skill_and_none_for_its_files(made: Bundle) -> None:
    rows = [line for line in _text(made, "union/SKILL.md").split("\n") if line.startswith("- ")]
    assert sum("bench-05" in row for row in rows) == 1
    row = next(row for row in rows if "bench-05" in row)
    assert row.startswith(
        "- [bench-05.md](bench-05.md): read first when the task involves bench-05;"
    )
    assert "it tells when to open a file of `bench-05/`." in row
    assert "Why: Repairs case 5 at the bench. Use when case 5 comes back cracked." in row


def test_an_index_holds_its_configuration_and_routes_to_its_files(made: Bundle) -> None:
    index = _text(made, "union/bench-05.md")
    assert index.startswith("# bench-05\n\nConfiguration for `bench-05`:\n")
    assert "[the page](bench-05/notes.md)" in index
    assert "bench-06" not in index


def test_a_skill_that_fits_its_index_stays_whole(made: Bundle) -> None:
    index = _text(made, "union/bench-05.md")
    assert "Run `python3 scripts/check.py --case 5`." in index
    assert not any(path.startswith("union/references/bench-05/") for path in made.files)


def test_a_skill_that_does_not_fit_its_index_is_parted(made: Bundle) -> None:
    row = next(line for line in _text(made, "union/SKILL.md").split("\n") if "bench-11" in line)
    assert "`bench-11/`, `references/bench-11/`" in row
    assert any(path.startswith("union/references/bench-11/") for path in made.files)
    assert "(references/bench-11/" in _text(made, "union/bench-11.md")


def test_links_of_an_index_lead_to_files_that_are_there(made: Bundle) -> None:
    index = _text(made, "union/bench-05.md")
    assert "[the page](bench-05/notes.md)" in index
    assert "union/bench-05/notes.md" in made.files


def test_a_link_to_a_folder_of_a_skill_leads_there_from_its_index(made: Bundle) -> None:
    assert "[all scripts](bench-05/scripts)" in _text(made, "union/bench-05.md")


def test_an_index_takes_no_name_that_a_file_has(made: Bundle) -> None:
    assert _text(made, "union/bench-03.md").startswith("# House rules")
    assert _text(made, "union/bench-03-2.md").startswith("# bench-03\n")


def test_data_of_a_skill_is_named_in_its_index_and_shared_files_in_the_root(made: Bundle) -> None:
    root = _text(made, "union/SKILL.md")
    assert "bench-03/table.csv" in _text(made, "union/bench-03-2.md")
    assert "table.csv" not in root
    assert "- [bench-03.md](bench-03.md): read when the task involves House rules" in root


def test_a_description_that_the_file_spells_otherwise_is_left_out_of_its_row(made: Bundle) -> None:
    row = next(line for line in _text(made, "union/SKILL.md").split("\n") if "bench_odd" in line)
    assert "Why:" not in row


def test_every_file_of_a_skill_is_named_in_its_index(made: Bundle) -> None:
    for bench in BENCHES:
        name = "bench-03-2" if bench == "bench-03" else bench
        index = _text(made, f"union/{name}.md")
        for path in made.files:
            inner = path.removeprefix("union/")
            if bench in PurePosixPath(inner).parts[:-1]:
                assert inner.removeprefix(f"{bench}/") in index, (bench, path)


def test_a_union_that_fits_its_root_gets_no_indexes() -> None:
    parent = built("union", "baseline")[2]
    plan = ProgressiveDisclosure().plan(parent, {"root_lines": 100_000})
    assert not any(file.path == "union/bench-05.md" for file in plan.files)


def test_a_few_skills_get_indexes_only_where_sharing_rows_does_not_help() -> None:
    parent = built("several", "baseline")[2]
    plan = ProgressiveDisclosure().plan(parent, {"root_lines": 14})
    assert any(file.path == "several/alpha.md" for file in plan.files)
    files = render(plan, parent)
    made = Bundle(parent.name, files, parent.skills)
    assert verify(plan, parent, made) == ()
