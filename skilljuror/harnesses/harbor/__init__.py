"""Trials run by Harbor, the program, in jobs of its own."""
