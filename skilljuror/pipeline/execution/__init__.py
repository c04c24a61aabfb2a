"""Running the trials of a study."""
