"""Build a trajectory from the records of a log."""
