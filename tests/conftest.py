"""What holds for every test."""

import os

os.environ.pop("COLUMNS", None)
"""pytest-xdist sets it for its workers: piped tables and `show` would be as narrow as its own lines."""
