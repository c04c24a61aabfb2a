-- question: How does one measure differ between two conditions, task by task?
-- section: lists
-- grain: one row is one task with a value in both arms
-- columns: task, metric, treatment_mean, treatment_trials, control_mean, control_trials, difference
-- arms: contrast
-- params: metric=reward, key=null, treatment=null, control=null
-- empty: The database has no two conditions of a study to compare, or no task has a value of this measure in
--   both arms. For foreign logs, `skilljuror query STUDY metrics` lists the measures and the number of runs
--   with a value.
-- column treatment_trials: trials with a value; the mean excludes nulls
WITH contrast AS (
    SELECT
        coalesce(CAST($treatment AS VARCHAR), (SELECT max(treatment) FROM study)) AS treatment,
        coalesce(CAST($control AS VARCHAR), (SELECT max(control) FROM study)) AS control
),
means AS (
    SELECT r.condition, r.task, m.metric, avg(m.value) AS mean, count(m.value) AS trials
    FROM arm_runs AS r
    JOIN measures AS m ON r.usable AND m.trial = r.run
    WHERE m.metric = CAST($metric AS VARCHAR) AND m.key = coalesce(CAST($key AS VARCHAR), '')
    GROUP BY ALL
)
SELECT
    t.task,
    t.metric,
    t.mean AS treatment_mean,
    t.trials AS treatment_trials,
    c.mean AS control_mean,
    c.trials AS control_trials,
    t.mean - c.mean AS difference
FROM contrast AS k
JOIN means AS t ON t.condition = k.treatment
JOIN means AS c ON c.condition = k.control AND c.task = t.task
WHERE t.trials > 0 AND c.trials > 0
ORDER BY difference DESC, t.task;
