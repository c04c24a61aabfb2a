"""The content witness: lines of files shown by an output."""
