"""What holds for every test."""

import os

from hypothesis import settings

os.environ.pop("COLUMNS", None)
"""pytest-xdist sets it for its workers: piped tables and `show` would be as narrow as its own lines."""

settings.register_profile("patient", settings.default, deadline=None)
settings.load_profile("patient")
"""A busy machine is no fault of an example."""
