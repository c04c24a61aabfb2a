"""What a command asks for: files, lines of them, and the programs that ask."""
