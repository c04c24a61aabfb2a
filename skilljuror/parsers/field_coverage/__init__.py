"""Find which fields of a log its parser reads, by changing each."""
