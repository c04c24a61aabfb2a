"""Knowledge units of a bundle."""
