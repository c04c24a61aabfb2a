"""Events that need more than the resources that a call names: what a harness put into the context, lines
that a search printed, files that no command names."""
