"""What became of each unit of one bundle in another."""
