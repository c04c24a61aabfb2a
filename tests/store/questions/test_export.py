"""`export`: every table, with its types and the meaning of each column."""

import csv

import duckdb

from skilljuror.store.questions.export import export
from skilljuror.store.questions.run import run
from tests.support.cli_process import call
from tests.support.fabricated_studies import small_study


def test_every_table_has_a_file_with_its_rows_and_types(tmp_path):
    path = small_study(tmp_path)
    counts = export(path, tmp_path / "tables")
    files = {file.stem for file in (tmp_path / "tables").glob("*.parquet")}
    assert files == set(counts) > {"trials", "events", "runs"}
    for name, count in counts.items():
        file = str(tmp_path / "tables" / f"{name}.parquet")
        found = len(duckdb.read_parquet(file))
        assert found == count == run(path, f"SELECT count(*) FROM {name}").rows[0][0]
    with (tmp_path / "tables" / "dictionary.csv").open(encoding="utf-8", newline="") as text:
        rows = list(csv.DictReader(text))
    assert {row["table"] for row in rows} == files
    assert all(row["meaning"] and row["type"] for row in rows)


def test_a_folder_with_content_is_left_alone(tmp_path):
    study = small_study(tmp_path).parent
    done = call("query", study, "--out", study)
    assert (done.returncode, "is not empty; name a new folder" in done.stderr) == (2, True)
    for _ in range(2):  # an earlier export is replaced
        done = call("query", study, "--out", tmp_path / "new")
        assert (done.returncode, "tables, " in done.stdout) == (0, True)
