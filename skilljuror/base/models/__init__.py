"""Records: what stages hand to each other. No behaviour beyond properties."""
