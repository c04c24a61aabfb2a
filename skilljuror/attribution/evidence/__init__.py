"""The content witness: what an output shows of which file."""
