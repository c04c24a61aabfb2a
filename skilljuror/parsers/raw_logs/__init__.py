"""Raw files as JSON values with their lines, whatever state the file is in."""
