"""One flat text into a root and the files it routes to."""
