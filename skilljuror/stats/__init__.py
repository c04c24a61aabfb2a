"""Estimators: paired, clustered, bootstrap."""
