"""Prove a build from its source."""
