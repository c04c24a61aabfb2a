"""From paths as agents write them to resources of skills."""
