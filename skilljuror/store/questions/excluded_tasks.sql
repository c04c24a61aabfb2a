-- question: Which tasks were excluded before the study, and why?
-- section: overview
-- grain: one row is one task without trials
-- columns: task, category, reason, decided_by
-- read: A rule excludes tasks by the size or layout of their Skills, before any trial; tasks that a person
--   excluded are listed in the study file.
-- empty: No task was excluded.
-- column decided_by: person, a rule (max_tokens or pd_worth), or build (no model wrote its variants)
SELECT task, category, reason, decided_by FROM excluded_tasks ORDER BY category, task;
