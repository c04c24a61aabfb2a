"""Rubric items, answered by code where possible, and by a model whose answers are checked."""
