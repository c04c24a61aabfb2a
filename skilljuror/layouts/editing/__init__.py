"""Pages and links under construction."""
