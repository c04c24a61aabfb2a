"""Resolve paths as agents write them to resources of Skills."""
