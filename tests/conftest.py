"""What holds for every test."""

import os
import shutil
import signal
import sys
from pathlib import Path

import pytest
from hypothesis import settings

from tests.support.new_databases import copy_new_databases

os.environ.pop("COLUMNS", None)
"""pytest-xdist sets it for its workers: piped tables and `show` would be as narrow as its own lines."""

sys.dont_write_bytecode = False
"""pytest rewrites the assertions of every test file. Containers often set PYTHONDONTWRITEBYTECODE; each run
and each worker would spend half of its collection on that again."""

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
"""A script's background job inherits a Ctrl-C that is ignored, and hands it on to the commands of the tests."""

MEMORY = Path("/dev/shm")
if MEMORY.is_dir() and shutil.disk_usage(MEMORY).free > 8 << 30:
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(MEMORY))
"""Records and databases are synced to the disk when they are written: tests would wait for it a third of
their time."""

settings.register_profile("patient", settings.default, deadline=None)
settings.load_profile("patient")
"""A busy machine is no fault of an example."""

copy_new_databases()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the module whose tests share minutes of work, so that no worker ends with it alone."""
    items.sort(key=lambda item: item.path.name != "test_assay_corpus.py")
