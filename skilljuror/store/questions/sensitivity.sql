-- question: Does the headline change if trials are counted by another rule?
-- section: RQ2
-- grain: one row is one counting rule
-- columns: rule, tasks, treatment_passes, treatment_trials, control_passes, control_trials, delta,
--   delta_reason, wins, losses
-- arms: contrast
-- params: treatment=null, control=null
-- read: The first row is the strict pass rate over all planned trials. If another row has a different sign,
--   the difference depends on how trials that are not final, broken or contaminated are counted. The two worst
--   cases bound what the first row can become when all trials are final. All rows count strict passes, also in a study whose primary outcome is the reward.
-- empty: The database has no two conditions of a study to compare. For foreign logs, `skilljuror query STUDY
--   observed_outcomes` shows the outcomes of their trials.
-- column rule: trials that count
-- column tasks: tasks with trials in both arms under this rule; other tasks are left out of the row
-- column delta: mean over tasks of the difference of strict pass rates, a fraction
-- column delta_reason: reason for a missing difference
-- column wins: tasks with a higher rate under treatment
WITH contrast AS (
    SELECT
        coalesce(CAST($treatment AS VARCHAR), (SELECT max(treatment) FROM study)) AS treatment,
        coalesce(CAST($control AS VARCHAR), (SELECT max(control) FROM study)) AS control
),
trials_of AS (
    SELECT
        r.task, r.final, r.status, r.exception,
        r.contaminated,
        r.condition = k.treatment AS treated,
        r.strict,
        bool_and(r.final) OVER (PARTITION BY r.task) AS task_final
    FROM contrast AS k
    JOIN runs AS r ON r.condition IN (k.treatment, k.control) AND r.verified
),
rules(place, rule) AS (
    VALUES
        (1, 'planned frame'),
        (2, 'final trials only'),
        (3, 'trials that are not final count as passes'),
        (4, 'worst case: trials that are not final fail in the treatment, pass in the control'),
        (5, 'worst case: trials that are not final pass in the treatment, fail in the control'),
        (6, 'final trials without an exception'),
        (7, 'tasks whose trials are all final'),
        (8, 'contaminated trials left out')
),
counted AS (
    SELECT
        place, rule, task, treated,
        CASE place
            WHEN 3 THEN strict OR NOT final
            WHEN 4 THEN if(final, strict, NOT treated)
            WHEN 5 THEN if(final, strict, treated)
            ELSE strict
        END AS strict
    FROM rules
    CROSS JOIN trials_of
    WHERE CASE place
        WHEN 2 THEN final
        WHEN 6 THEN final AND exception IS NULL
        WHEN 7 THEN task_final
        WHEN 8 THEN NOT contaminated
        ELSE true
    END
),
per_task AS (
    SELECT
        place, task,
        count(*) FILTER (WHERE treated AND strict) AS treatment_passes,
        count(*) FILTER (WHERE treated) AS treatment_trials,
        count(*) FILTER (WHERE NOT treated AND strict) AS control_passes,
        count(*) FILTER (WHERE NOT treated) AS control_trials
    FROM counted
    GROUP BY ALL
    HAVING treatment_trials > 0 AND control_trials > 0
)
SELECT
    r.rule,
    count(t.task) AS tasks,
    CAST(sum(t.treatment_passes) AS BIGINT) AS treatment_passes,
    CAST(sum(t.treatment_trials) AS BIGINT) AS treatment_trials,
    CAST(sum(t.control_passes) AS BIGINT) AS control_passes,
    CAST(sum(t.control_trials) AS BIGINT) AS control_trials,
    avg(t.treatment_passes / t.treatment_trials - t.control_passes / t.control_trials) AS delta,
    if(count(t.task) = 0, 'no task keeps trials in both arms', NULL) AS delta_reason,
    if(count(t.task) = 0, NULL, count(*) FILTER (
        WHERE t.treatment_passes * t.control_trials > t.control_passes * t.treatment_trials
    )) AS wins,
    if(count(t.task) = 0, NULL, count(*) FILTER (
        WHERE t.treatment_passes * t.control_trials < t.control_passes * t.treatment_trials
    )) AS losses
FROM rules AS r
LEFT JOIN per_task AS t ON t.place = r.place
WHERE EXISTS (SELECT 1 FROM trials_of)
GROUP BY r.place, r.rule
ORDER BY r.place;
