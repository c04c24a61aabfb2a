"""Which script, module or inline code a command runs."""
