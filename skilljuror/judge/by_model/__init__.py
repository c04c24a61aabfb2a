"""Uptake as a language model sees it: asked, checked against the log, never taken at its word."""
