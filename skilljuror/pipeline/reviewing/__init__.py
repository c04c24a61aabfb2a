"""People in the loop: what waits for them, and what they answer."""
