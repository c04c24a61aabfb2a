"""terminus-2: its own list of episodes."""
