"""What each program does to the files it is given."""
