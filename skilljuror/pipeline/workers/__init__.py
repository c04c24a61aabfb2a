"""Worker processes and the progress they report."""
