"""Python code as file accesses: what it opens, imports, runs and prints."""
