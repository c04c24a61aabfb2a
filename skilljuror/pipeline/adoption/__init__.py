"""Finished jobs of other harnesses as studies."""
