"""Two bundles in, findings out; one bundle in, gate results out."""
