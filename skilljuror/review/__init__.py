"""Questions for people, and their answers."""
