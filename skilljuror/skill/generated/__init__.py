"""Lines and markers that a plan may generate, and how they are recognised."""
