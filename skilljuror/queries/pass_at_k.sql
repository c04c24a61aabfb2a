-- question: How likely is at least one pass in k trials?
-- section: RQ2
-- grain: one row is one condition
-- columns: condition, k, tasks, short_tasks, pass_at_k
-- params: k=3
-- read: A planned trial without an outcome is no pass. A task with fewer than k planned trials says nothing of
--   k of them and is left out.
-- empty: No trial of a study is in this database: `skilljuror run` with a study file plans and runs
--   them. Of logs as they were found `skilljuror query STUDY observed_outcomes` tells how their
--   trials ended.
-- column tasks: tasks with at least k planned trials
-- column short_tasks: tasks with fewer
-- column pass_at_k: mean over these tasks of the chance that at least one of k of their trials passes
WITH cells AS (
    SELECT
        condition, position, task,
        pass_at_k(
            count(*), count(*) FILTER (WHERE reward = 1), CAST($k AS BIGINT)
        ) AS chance
    FROM runs
    WHERE status <> 'observed'
    GROUP BY condition, position, task
)
SELECT
    condition,
    CAST($k AS BIGINT) AS k,
    count(chance) AS tasks,
    count(*) - count(chance) AS short_tasks,
    avg(chance) AS pass_at_k
FROM cells
GROUP BY condition, position
ORDER BY position;
