"""What holds for every test."""

import os
import sys

from hypothesis import settings

os.environ.pop("COLUMNS", None)
"""pytest-xdist sets it for its workers: piped tables and `show` would be as narrow as its own lines."""

sys.dont_write_bytecode = False
"""pytest rewrites the assertions of every test file. Containers often set PYTHONDONTWRITEBYTECODE; each run
and each worker would spend half of its collection on that again."""

settings.register_profile("patient", settings.default, deadline=None)
settings.load_profile("patient")
"""A busy machine is no fault of an example."""
