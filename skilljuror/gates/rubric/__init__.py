"""Items of a rubric: put to a model, whose answers are checked, and answered by code where code can."""
