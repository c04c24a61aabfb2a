"""Named questions: one .sql file each."""
