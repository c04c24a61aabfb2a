-- question: How many of a rubric's points does the work earn in both arms, by group of items?
-- section: RQ2
-- grain: one row is one group of items and one task, or, with a null task, all tasks
-- columns: item_group, task, treatment, control, tasks, treatment_score, control_score, delta, low, high,
--   interval_reason, pairs, treatment_scored, control_scored, treatment_unjudged, control_unjudged, dropped
-- arms: treatment, control
-- params: weight=0.5, rubric=null, treatment=null, control=null
-- read: A score is earned points / points of a trial's items; it is null while one of them is unjudged. Trials
--   are paired by their number, and only pairs with two scores enter; all tasks weigh the same.
-- empty: No trial of the two conditions is judged by a rubric. `skilljuror judge STUDY --rubric` does it.
-- column item_group: goal, following or another group of the rubric; overall is weight × following +
--   (1 - weight) × goal, of trials with both
-- column tasks: tasks with a pair; the scores and delta are means over them
-- column treatment_score: mean score of the paired trials
-- column low: lower end of Student's 95 % interval of delta over tasks, not below -1
-- column interval_reason: why there is no interval
-- column pairs: pairs of trials with a score in both arms
-- column treatment_scored: usable trials with a score
-- column treatment_unjudged: usable trials with an unjudged item, which have no score
-- column dropped: names of scored trials whose partner has no score
WITH contrast AS (
    SELECT
        coalesce(CAST($treatment AS VARCHAR), (SELECT max(treatment) FROM study)) AS treatment,
        coalesce(CAST($control AS VARCHAR), (SELECT max(control) FROM study)) AS control
),
grouped AS (
    SELECT
        r.run, r.task, r.condition = k.treatment AS treated, p.number, c.item_group,
        if(count(c.award) = count(*), sum(c.award) / sum(c.points), NULL) AS score
    FROM contrast AS k
    JOIN arm_runs AS r ON r.usable AND r.condition IN (k.treatment, k.control)
    JOIN planned_trials AS p ON p.trial = r.run
    JOIN check_results AS c ON c.trial = r.run AND c.item_group IS NOT NULL
    WHERE CAST($rubric AS VARCHAR) IS NULL OR c.source = CAST($rubric AS VARCHAR)
    GROUP BY ALL
),
scores AS (
    FROM grouped
    UNION ALL BY NAME
    SELECT
        run, task, treated, number, 'overall' AS item_group,
        CAST($weight AS DOUBLE) * max(score) FILTER (WHERE item_group = 'following')
        + (1 - CAST($weight AS DOUBLE)) * max(score) FILTER (WHERE item_group = 'goal') AS score
    FROM grouped
    WHERE item_group IN ('following', 'goal')
    GROUP BY ALL
    HAVING count(*) = 2
),
partners AS (
    SELECT
        s.*,
        count(s.score) OVER (PARTITION BY s.item_group, s.task, s.number) = 2 AS paired
    FROM scores AS s
),
per_task AS (
    SELECT
        item_group, task,
        avg(score) FILTER (WHERE paired AND treated) AS treatment_score,
        avg(score) FILTER (WHERE paired AND NOT treated) AS control_score,
        -- rounded: binary fractions would be a variation between tasks that have none
        round(treatment_score - control_score, 12) AS delta,
        count(*) FILTER (WHERE paired AND treated) AS pairs,
        count(score) FILTER (WHERE treated) AS treatment_scored,
        count(score) FILTER (WHERE NOT treated) AS control_scored,
        count(*) FILTER (WHERE treated) - treatment_scored AS treatment_unjudged,
        count(*) FILTER (WHERE NOT treated) - control_scored AS control_unjudged,
        list(run ORDER BY run) FILTER (WHERE score IS NOT NULL AND NOT paired) AS dropped
    FROM partners
    GROUP BY item_group, task
),
whole AS (
    SELECT
        item_group,
        count(delta) AS tasks,
        avg(treatment_score) AS treatment_score,
        avg(control_score) AS control_score,
        avg(delta) AS delta,
        -- quantiles of Student's distribution with 1 to 6 degrees of freedom
        nullif(stddev_samp(delta), 0) / sqrt(count(delta)) * coalesce(
            [12.7062, 4.3027, 3.1824, 2.7764, 2.5706, 2.4469][count(delta) - 1], student_975(count(delta) - 1)
        ) AS half,
        sum(pairs)::BIGINT AS pairs,
        sum(treatment_scored)::BIGINT AS treatment_scored,
        sum(control_scored)::BIGINT AS control_scored,
        sum(treatment_unjudged)::BIGINT AS treatment_unjudged,
        sum(control_unjudged)::BIGINT AS control_unjudged,
        flatten(list(dropped) FILTER (WHERE dropped IS NOT NULL)) AS dropped
    FROM per_task
    GROUP BY item_group
),
rows AS (
    SELECT NULL AS task, * FROM whole
    UNION ALL BY NAME
    SELECT *, (delta IS NOT NULL)::BIGINT AS tasks FROM per_task
)
SELECT
    r.item_group,
    r.task,
    k.treatment,
    k.control,
    r.tasks,
    r.treatment_score,
    r.control_score,
    r.delta,
    if(r.half IS NULL, NULL, greatest(r.delta - r.half, -1)) AS low,
    if(r.half IS NULL, NULL, least(r.delta + r.half, 1)) AS high,
    CASE
        WHEN r.half IS NOT NULL THEN NULL
        WHEN r.tasks = 0 THEN 'no pair of trials with a score in both arms'
        WHEN r.tasks = 1 THEN 'one task'
        ELSE 'all tasks have the same difference'
    END AS interval_reason,
    r.pairs,
    r.treatment_scored,
    r.control_scored,
    r.treatment_unjudged,
    r.control_unjudged,
    array_to_string(r.dropped, ', ') AS dropped
FROM contrast AS k, rows AS r
ORDER BY r.task IS NOT NULL, r.item_group <> 'overall', r.item_group, r.task;
