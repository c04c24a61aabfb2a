"""A run in the order in which the agent saw and did things."""
