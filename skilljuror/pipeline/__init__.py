"""The order of stages, the one worker pool, the one broad except."""
