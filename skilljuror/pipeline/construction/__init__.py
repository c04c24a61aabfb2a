"""Building and auditing variants."""
