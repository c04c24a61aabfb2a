-- question: How many tasks were found, excluded and run?
-- section: overview
-- grain: one row is one set of tasks or trials
-- columns: part, count, unit
-- read: The tasks found are the excluded tasks, by kind of reason, and the tasks of the study. Every rate is
--   over the latter.
-- empty: The database has no planned study, only foreign logs.
WITH parts AS (
    SELECT 0 AS position, 'found' AS part, 'tasks' AS unit,
        (SELECT count(*) FROM tasks) + (SELECT count(*) FROM excluded_tasks) AS count
    UNION ALL
    SELECT 1, 'left out: ' || category, 'tasks', count(*) FROM excluded_tasks GROUP BY category
    UNION ALL
    SELECT 2, 'in the study', 'tasks', (SELECT count(*) FROM tasks)
    UNION ALL
    SELECT 3, 'planned', 'trials', (SELECT count(*) FROM planned_trials)
)
SELECT part, count, unit FROM parts
WHERE EXISTS (SELECT 1 FROM study)
ORDER BY position, count DESC, part;
