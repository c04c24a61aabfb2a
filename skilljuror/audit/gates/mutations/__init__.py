"""Mutations that measure the gates: drift that they must flag, and edits that they must pass."""
