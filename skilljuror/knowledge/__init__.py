"""Units of a bundle, and Plan, render, verify: text is moved, never rewritten."""
