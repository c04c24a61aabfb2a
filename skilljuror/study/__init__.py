"""Run matched trials: plan, check, run."""
