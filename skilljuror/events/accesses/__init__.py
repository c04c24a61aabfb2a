"""File accesses of a command: paths, lines, and the programs that read them."""
