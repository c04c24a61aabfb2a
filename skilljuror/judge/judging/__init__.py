"""Judge uptake and tasks, and store the verdicts."""
