"""Layouts in which a language model takes part."""
