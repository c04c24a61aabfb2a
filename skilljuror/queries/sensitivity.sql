-- question: Does the headline hold when trials are counted by another rule?
-- section: RQ2
-- grain: one row is one rule of counting
-- columns: rule, tasks, treatment_passes, treatment_trials, control_passes, control_trials, delta,
--   wins, losses
-- params: treatment=null, control=null
-- read: The first row is the headline. Where another row changes its sign, the headline rests on how
--   unfinished, broken or contaminated trials are counted. Means are over tasks with trials in both arms.
-- empty: There are no two conditions of a study to compare in this database. Of logs as they were
--   found `skilljuror query STUDY observed_outcomes` tells how their trials ended.
-- column rule: which trials count
-- column delta: mean over tasks of the difference of strict pass rates, a fraction
-- column wins: tasks with a higher rate under treatment
WITH contrast AS (
    SELECT
        coalesce(CAST($treatment AS VARCHAR), (SELECT max(treatment) FROM study)) AS treatment,
        coalesce(CAST($control AS VARCHAR), (SELECT max(control) FROM study)) AS control
),
trials_of AS (
    SELECT
        r.task, r.settled, r.status, r.exception,
        r.run IN (SELECT trial FROM contaminations) AS contaminated,
        r.condition = k.treatment AS treated,
        coalesce(r.reward = 1, false) AS strict  -- a missing reward is no pass
    FROM contrast AS k
    JOIN runs AS r ON r.condition IN (k.treatment, k.control)
),
rules AS (
    SELECT 1 AS place, 'planned frame' AS rule, task, treated, strict FROM trials_of
    UNION ALL
    SELECT 2, 'settled trials only', task, treated, strict FROM trials_of WHERE settled
    UNION ALL
    SELECT 3, 'unsettled trials count as passes', task, treated, strict OR NOT settled FROM trials_of
    UNION ALL
    SELECT 4, 'clean ends only (no exception)', task, treated, strict
    FROM trials_of WHERE settled AND exception IS NULL
    UNION ALL
    SELECT 5, 'tasks with every trial settled', task, treated, strict
    FROM (SELECT *, bool_and(settled) OVER (PARTITION BY task) AS whole FROM trials_of)
    WHERE whole
    UNION ALL
    SELECT 6, 'contaminated trials left out', task, treated, strict
    FROM trials_of WHERE NOT contaminated
),
per_task AS (
    SELECT
        place, rule, task,
        count(*) FILTER (WHERE treated AND strict) AS treatment_passes,
        count(*) FILTER (WHERE treated) AS treatment_trials,
        count(*) FILTER (WHERE NOT treated AND strict) AS control_passes,
        count(*) FILTER (WHERE NOT treated) AS control_trials
    FROM rules
    GROUP BY ALL
    HAVING treatment_trials > 0 AND control_trials > 0
)
SELECT
    rule,
    count(*) AS tasks,
    CAST(sum(treatment_passes) AS BIGINT) AS treatment_passes,
    CAST(sum(treatment_trials) AS BIGINT) AS treatment_trials,
    CAST(sum(control_passes) AS BIGINT) AS control_passes,
    CAST(sum(control_trials) AS BIGINT) AS control_trials,
    avg(treatment_passes / treatment_trials - control_passes / control_trials) AS delta,
    count(*) FILTER (WHERE treatment_passes * control_trials > control_passes * treatment_trials) AS wins,
    count(*) FILTER (WHERE treatment_passes * control_trials < control_passes * treatment_trials) AS losses
FROM per_task
GROUP BY place, rule
ORDER BY place;
