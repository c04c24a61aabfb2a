"""Which files are logs, of which format, and which belong to one run."""
