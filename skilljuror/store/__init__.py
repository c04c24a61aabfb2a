"""The DuckDB store: the only door to the database.

The database is disposable: everything in it can be made again from the files of a study.
"""

from skilljuror.store.connect import open_read, open_write
from skilljuror.store.reader import Reader, Result
from skilljuror.store.writer import Store

__all__ = ["Reader", "Result", "Store", "open_read", "open_write"]
