-- question: Which tasks were left out before the study, and why?
-- section: overview
-- grain: one row is one task without trials
-- columns: task, category, reason, decided_by
-- read: What a rule left out was decided by the size or the layout of its Skills, before any trial ran;
--   what a person left out stands in the study file.
-- empty: No task was left out.
-- column decided_by: person, or the rule: max_tokens or pd_worth
SELECT task, category, reason, decided_by FROM excluded_tasks ORDER BY category, task;
