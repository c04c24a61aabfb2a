"""The DuckDB store: the only door to the database."""
