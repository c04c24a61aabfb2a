"""Door in 1: read and check a Skill bundle. Every bundle is treated as hostile."""
