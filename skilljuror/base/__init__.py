"""Records, files, errors, tokens and model calls: what every room uses."""

__version__ = "0.1.0"
