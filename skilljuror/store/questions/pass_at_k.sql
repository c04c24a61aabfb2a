-- question: How likely is at least one pass in k trials?
-- section: RQ2
-- grain: one row is one condition
-- columns: condition, k, tasks, short_tasks, pass_at_k
-- arms: condition
-- whole: pass_at_k
-- params: k=3
-- read: A planned trial without an outcome is not a pass. Tasks with fewer than k planned trials are left
--   out.
-- empty: No planned trials. `skilljuror run` with a study file plans and runs them. For foreign logs,
--   `skilljuror query STUDY observed_outcomes` shows the outcomes of their trials.
-- column tasks: tasks with at least k planned trials
-- column short_tasks: tasks with fewer than k
-- column pass_at_k: mean over these tasks of the probability that at least one of k of their trials passes
WITH cells AS (
    SELECT
        condition, position, task,
        pass_at_k(
            count(*), count(*) FILTER (WHERE reward = 1), CAST($k AS BIGINT)
        ) AS chance
    FROM runs
    WHERE status <> 'observed' AND verified
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
