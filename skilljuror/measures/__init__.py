"""Measures of one run, and estimators over many."""
