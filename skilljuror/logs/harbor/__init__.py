"""Harbor trial folders."""
