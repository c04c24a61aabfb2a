"""mini-swe-agent: one document per run."""
