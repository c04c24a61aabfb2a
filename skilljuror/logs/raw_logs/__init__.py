"""Tolerant reading of raw files as JSON values with line numbers."""
