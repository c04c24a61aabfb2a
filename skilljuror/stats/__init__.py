"""Estimators: paired and clustered."""
