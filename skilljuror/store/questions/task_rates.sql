-- question: What does each task add to the rates of a condition?
-- section: RQ3
-- grain: one row is one condition, measure, judge and task
-- columns: condition, measure, judge, task, part, whole
-- arms: condition
-- read: A rate is the sum of part / the sum of whole. Tasks differ more than trials of one task, so intervals are
--   over tasks: see the table process_rates of the report.
-- empty: No readable log has a measure. `skilljuror query STUDY nulls` gives the reasons.
-- column measure: support read, script run, helper used: share of trials; skill step share: mean over trials;
--   early, middle, late: share of the Skill-related steps; distributed: share of the trials with such a step;
--   yes uses: mean over trials, open uses as no (low) or as yes (high), without a judge that has not judged all
-- column judge: null for measures of the log
-- column task: the task; for a foreign run without one, the run
WITH names (place, measure, metric) AS (
    VALUES
    (1, 'support read', 'support_read'),
    (2, 'script run', 'script_exec'),
    (3, 'helper used', 'helper_use'),
    (4, 'skill step share', 'skill_step_share'),
    (8, 'distributed', 'distributed')
),
frame AS (SELECT condition, position, run, coalesce(task, run) AS task, readable, usable FROM arm_runs),
shares AS (
    SELECT
        n.place, n.measure, f.condition, f.position, f.task, NULL::VARCHAR AS judge,
        sum(m.value) AS part, count(m.value) AS whole
    FROM frame AS f
    JOIN measures AS m ON f.usable AND m.trial = f.run AND m.key = ''
    JOIN names AS n ON n.metric = m.metric
    GROUP BY ALL
),
thirds AS (
    SELECT
        5 + k.third AS place, ['early', 'middle', 'late'][k.third + 1] AS measure,
        f.condition, f.position, f.task, NULL::VARCHAR AS judge,
        coalesce(sum(m.value) FILTER (WHERE m.key = k.third::VARCHAR), 0) AS part,
        coalesce(sum(m.value), 0) AS whole
    FROM frame AS f
    JOIN measures AS m ON f.usable AND m.trial = f.run AND m.metric = 'skill_steps_in_third'
    CROSS JOIN range(3) AS k (third)
    GROUP BY ALL
),
judged AS (
    SELECT
        f.condition, f.position, f.task, j.judge, f.run,
        coalesce(u.events, 0) AS events, coalesce(u.judged, 0) AS labels,
        coalesce(u.low, 0) AS low, coalesce(u.high, 0) AS high
    FROM frame AS f
    CROSS JOIN (SELECT DISTINCT judge FROM verdicts) AS j
    LEFT JOIN judged_runs AS u ON u.run = f.run AND u.judge = j.judge
    WHERE f.readable
),
yes AS (
    SELECT condition, position, task, judge, sum(low) AS low, sum(high) AS high, count(*) AS whole
    FROM (
        SELECT *, sum(events - labels) OVER (PARTITION BY condition, judge) AS unjudged FROM judged
    )
    WHERE unjudged = 0
    GROUP BY ALL
)
SELECT condition, measure, judge, task, CAST(part AS DOUBLE) AS part, CAST(whole AS DOUBLE) AS whole
FROM (
    SELECT * FROM shares
    UNION ALL BY NAME SELECT * FROM thirds
    UNION ALL BY NAME
    SELECT * EXCLUDE (low, high), 9 AS place, 'yes uses (low)' AS measure, low AS part FROM yes
    UNION ALL BY NAME
    SELECT * EXCLUDE (low, high), 10 AS place, 'yes uses (high)' AS measure, high AS part FROM yes
)
WHERE whole > 0
ORDER BY position, place, judge, task;
