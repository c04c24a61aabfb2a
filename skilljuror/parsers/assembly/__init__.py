"""Building a trajectory out of what a format says."""
