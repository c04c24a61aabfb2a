"""Rendering a plan, and proving it from the files on disk."""
