"""Worker processes, progress and records that every stage uses."""
