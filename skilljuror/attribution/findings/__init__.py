"""Events before they are numbered, and the ones that no command names."""
