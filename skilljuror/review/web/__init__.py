"""The local page on which a person reviews: one question a screen, answered by keys or buttons."""
