"""Effects of each program on its files."""
