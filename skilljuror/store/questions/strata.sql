-- question: For which kinds of task do higher uptake and higher success coincide?
-- section: RQ4
-- grain: one row is one value of a task attribute, and one judge
-- columns: attribute, value, judge, tasks, treatment_passes, treatment_trials, control_passes,
--   control_trials, delta_pass, delta_pass_reason, sd_pass, delta_runtime, sd_runtime,
--   tasks_given, delta_given, sd_given, delta_yes_low, delta_yes_high, delta_events,
--   delta_fanout, treatment_minutes_per_pass, control_minutes_per_pass
-- arms: contrast
-- whole: treatment_passes, control_passes, delta_pass, sd_pass, delta_runtime, sd_runtime, tasks_given,
--   delta_given, sd_given, treatment_minutes_per_pass, control_minutes_per_pass
-- params: attributes=validation_type workflow_type domain, treatment=null, control=null, judge=null
-- read: Strata are small and numerous: use them as hints, not as tests. Uptake follows from the layout, so
--   its correlation with success here is not an effect of uptake.
-- empty: The database has no two conditions of a study to compare, or no task has one of these attributes.
--   For foreign logs, `skilljuror query STUDY observed_outcomes` shows the outcomes of their trials.
-- column attribute: of the task, judged, or derived: skills (1, 2-3, 4 and more) and skill_size (SKILL.md up to the 25th,
--   50th, 95th percentile of the study's tasks, or above; view skill_buckets)
-- column tasks: tasks planned in both arms; all other columns are over these
-- column delta_pass: mean over tasks of the difference of strict pass rates, a fraction
-- column sd_pass: standard deviation of this difference over tasks; null for one task
-- column delta_runtime: mean over tasks of the difference of runtime success rates, a fraction
-- column tasks_given: tasks with a runtime success in both arms
-- column delta_given: mean over these of the difference of strict passes / runtime successes, a fraction
-- column delta_yes_low: yes events per trajectory, treatment minus control, counting only the open uses of
--   the control as yes; null unless all events are judged
-- column delta_yes_high: the same, counting only the open uses of the treatment as yes
-- column delta_events: uses per trajectory, treatment minus control
-- column delta_fanout: distinct resources touched per trajectory, treatment minus control
-- column treatment_minutes_per_pass: minutes of all planned trials / strict passes; null without a pass or if
--   a trial was not measured
WITH contrast AS (
    SELECT
        coalesce(CAST($treatment AS VARCHAR), (SELECT max(treatment) FROM study)) AS treatment,
        coalesce(CAST($control AS VARCHAR), (SELECT max(control) FROM study)) AS control
),
both_arms AS (
    SELECT r.task
    FROM contrast AS k JOIN arm_runs AS r ON r.condition IN (k.treatment, k.control)
    GROUP BY r.task HAVING count(DISTINCT r.condition) = 2
),
attributes AS (
    SELECT task, attribute, value FROM task_attributes
    UNION ALL
    UNPIVOT (SELECT task, skills, skill_size FROM skill_buckets) ON skills, skill_size INTO NAME attribute VALUE value
),
judges AS (
    SELECT DISTINCT judge FROM verdicts
    WHERE CAST($judge AS VARCHAR) IS NULL OR judge = CAST($judge AS VARCHAR)
),
per_run AS (
    SELECT
        r.run, r.task, r.readable, j.judge,
        r.condition = k.treatment AS treated,
        r.strict,
        r.status <> 'missing' AND r.exception IS NULL AS clean,
        minutes.value AS minutes,
        fanout.value AS fanout,
        coalesce(u.events, 0) AS events,
        coalesce(u.judged, 0) AS judged,
        coalesce(u.low, 0) AS low,
        coalesce(u.high, 0) AS high
    FROM contrast AS k
    JOIN arm_runs AS r ON r.condition IN (k.treatment, k.control)
    JOIN both_arms AS b ON b.task = r.task
    LEFT JOIN judges AS j ON true
    LEFT JOIN judged_runs AS u ON u.run = r.run AND u.judge IS NOT DISTINCT FROM j.judge
    LEFT JOIN measures AS minutes
        ON minutes.trial = r.run AND minutes.metric = 'agent_minutes' AND minutes.key = ''
    LEFT JOIN measures AS fanout
        ON r.usable AND fanout.trial = r.run AND fanout.metric = 'fanout' AND fanout.key = ''
),
per_task AS (
    SELECT
        task, judge,
        -- rounded: binary fractions would be a variation between tasks that have none
        round(avg(strict::INTEGER) FILTER (WHERE treated) - avg(strict::INTEGER) FILTER (WHERE NOT treated), 12)
            AS delta_pass,
        round(avg(clean::INTEGER) FILTER (WHERE treated) - avg(clean::INTEGER) FILTER (WHERE NOT treated), 12)
            AS delta_runtime,
        round(
            avg(strict::INTEGER) FILTER (WHERE treated AND clean)
            - avg(strict::INTEGER) FILTER (WHERE NOT treated AND clean), 12
        ) AS delta_given
    FROM per_run
    GROUP BY task, judge
),
means AS (
    SELECT a.attribute, a.value, t.judge, count(*) AS tasks,
        avg(t.delta_pass) AS delta_pass, stddev_samp(t.delta_pass) AS sd_pass,
        avg(t.delta_runtime) AS delta_runtime, stddev_samp(t.delta_runtime) AS sd_runtime,
        count(t.delta_given) AS tasks_given, avg(t.delta_given) AS delta_given, stddev_samp(t.delta_given) AS sd_given
    FROM per_task AS t
    JOIN attributes AS a ON a.task = t.task
    GROUP BY ALL
),
arms AS (
    SELECT
        a.attribute, a.value, r.judge, r.treated,
        count(*) AS trials,
        CAST(sum(r.strict::INTEGER) AS BIGINT) AS passes,
        avg(r.events) FILTER (WHERE r.readable) AS events,
        avg(r.fanout) AS fanout,
        bool_and(r.judged = r.events) FILTER (WHERE r.readable) AND r.judge IS NOT NULL AS all_judged,
        if(all_judged, avg(r.low) FILTER (WHERE r.readable), NULL) AS low,
        if(all_judged, avg(r.high) FILTER (WHERE r.readable), NULL) AS high,
        if(count(r.minutes) = count(*), sum(r.minutes), NULL) / nullif(count(*) FILTER (WHERE r.strict), 0)
            AS minutes_per_pass
    FROM per_run AS r
    JOIN attributes AS a ON a.task = r.task
    GROUP BY a.attribute, a.value, r.judge, r.treated
)
SELECT
    m.attribute, m.value, m.judge, m.tasks,
    t.passes AS treatment_passes,
    t.trials AS treatment_trials,
    c.passes AS control_passes,
    c.trials AS control_trials,
    m.delta_pass,
    NULL::VARCHAR AS delta_pass_reason,
    m.sd_pass,
    m.delta_runtime,
    m.sd_runtime,
    m.tasks_given,
    m.delta_given,
    m.sd_given,
    t.low - c.high AS delta_yes_low,
    t.high - c.low AS delta_yes_high,
    t.events - c.events AS delta_events,
    t.fanout - c.fanout AS delta_fanout,
    t.minutes_per_pass AS treatment_minutes_per_pass,
    c.minutes_per_pass AS control_minutes_per_pass
FROM means AS m
JOIN arms AS t
    ON t.treated AND t.attribute = m.attribute AND t.value = m.value
    AND t.judge IS NOT DISTINCT FROM m.judge
JOIN arms AS c
    ON NOT c.treated AND c.attribute = m.attribute AND c.value = m.value
    AND c.judge IS NOT DISTINCT FROM m.judge
WHERE list_contains(string_split(CAST($attributes AS VARCHAR), ' '), m.attribute)
ORDER BY m.attribute, m.tasks DESC, m.value, m.judge;
