"""Read logs and trials into the database, and look them up."""
