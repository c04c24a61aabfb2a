"""Logs and trials into the database."""
