"""What makes a piece of text recognisable."""
