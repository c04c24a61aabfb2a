"""File accesses of Python code: opened, imported, run and printed files."""
