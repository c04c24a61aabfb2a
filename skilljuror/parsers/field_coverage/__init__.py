"""Which fields of a log its parser reads, found by changing each."""
