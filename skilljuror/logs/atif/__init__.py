"""ATIF, Harbor's interchange format."""
