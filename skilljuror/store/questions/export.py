"""Every table of a database as Parquet, with a data dictionary."""

from pathlib import Path

from skilljuror.base.errors import UsageError
from skilljuror.base.files import fresh_dir, write_atomic
from skilljuror.store.questions.csv_text import csv_text
from skilljuror.store.questions.run import open_read, parquet, run

DICTIONARY = "dictionary.csv"
_COLUMNS = """
SELECT table_name AS "table", column_name AS "column", lower(data_type) AS type, comment AS meaning
FROM duckdb_columns()
WHERE NOT internal
ORDER BY table_name, column_index
"""


def export(database: Path, target: Path) -> dict[str, int]:
    """Write DIR/<table>.parquet for every table and view and dictionary.csv, all or nothing; return
    name -> rows. An earlier export is replaced. Raises UsageError for a folder with other content,
    StoreError for a damaged database."""
    old = (target / DICTIONARY).is_file()
    if target.exists() and not old and (not target.is_dir() or any(target.iterdir())):
        raise UsageError(f"--out {str(target)!r} is not empty; name a new folder", field="out")
    with open_read(database) as reader:
        dictionary = run(reader, _COLUMNS)
    names = list(dict.fromkeys(row[0] for row in dictionary.rows))
    with fresh_dir(target) as staging:
        counts = {
            name: parquet(database, f"SELECT * FROM {name}", staging / f"{name}.parquet")  # noqa: S608
            for name in names
        }
        write_atomic(staging / DICTIONARY, csv_text(dictionary))
    return counts
