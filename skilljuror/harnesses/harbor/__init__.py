"""Run trials with the `harbor` program, in Harbor jobs."""
