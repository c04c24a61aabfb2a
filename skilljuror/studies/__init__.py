"""Studies as people write them, and the plans they are frozen to."""
