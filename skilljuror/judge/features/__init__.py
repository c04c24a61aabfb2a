"""What makes a piece of text recognisable: features of lines, and an index to find them again."""
