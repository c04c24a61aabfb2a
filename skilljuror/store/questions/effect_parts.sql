-- question: Which two conditions show each part of the difference between pd and baseline?
-- section: RQ2
-- grain: one row is one part
-- columns: part, treatment_variant, control_variant, treatment, control, tasks, delta_rate, delta_rate_reason
-- arms: treatment, control
-- whole: delta_rate
-- read: executability, cues and disclosure add up to all if every arm has the same tasks. A part without its two
--   arms is unknown, not zero. The report adds interval and verdict.
-- empty: No condition offers the variant flat-files or flat-toc, so nothing parts disclosure from executability.
-- column part: executability: files on disk instead of text to write out first. cues: the rows of pd, as a table
--   of contents. disclosure: prose in files opened on demand. disclosure and cues: the last two together.
-- column tasks: tasks planned in both arms
-- column delta_rate: mean over these tasks of the treatment's primary outcome minus the control's, a fraction;
--   a missing reward counts as 0
WITH parts (position, part, treatment_variant, control_variant) AS (
    VALUES
    (1, 'executability', 'flat-files', 'baseline'),
    (2, 'cues', 'flat-toc', 'flat-files'),
    (3, 'disclosure', 'pd', 'flat-toc'),
    (4, 'disclosure and cues', 'pd', 'flat-files'),
    (5, 'all', 'pd', 'baseline')
),
arms AS (  -- with the disclosure, agent, options, model and effort of the headline's treatment
    SELECT variant, other AS condition, reason
    FROM skill_pairs
    WHERE condition = (SELECT arg_max(condition, [coalesce(role = 'treatment', false)::INTEGER, position]) FROM conditions)
),
cells AS (
    SELECT
        condition,
        task,
        CASE (SELECT max(primary_outcome) FROM study)
            WHEN 'reward' THEN avg(if(verified, coalesce(reward, 0), NULL))
            WHEN 'checks' THEN if(count(share) = count(*), avg(share), NULL)
            ELSE avg(CAST(strict AS INTEGER))
        END AS outcome
    FROM runs LEFT JOIN check_shares ON trial = run
    WHERE status <> 'observed'
    GROUP BY condition, task
),
deltas AS (
    SELECT
        p.part,
        count(*) AS tasks,
        if(count(one.outcome - other.outcome) = count(*), avg(one.outcome - other.outcome), NULL) AS delta_rate
    FROM parts AS p
    JOIN arms AS t ON t.variant = p.treatment_variant
    JOIN arms AS c ON c.variant = p.control_variant
    JOIN cells AS one ON one.condition = t.condition
    JOIN cells AS other ON other.condition = c.condition AND other.task = one.task
    GROUP BY p.part
)
SELECT
    p.part,
    p.treatment_variant,
    p.control_variant,
    t.condition AS treatment,
    c.condition AS control,
    coalesce(d.tasks, 0) AS tasks,
    d.delta_rate,
    CASE
        WHEN t.variant IS NULL THEN 'no condition offers ' || p.treatment_variant
        WHEN c.variant IS NULL THEN 'no condition offers ' || p.control_variant
        WHEN t.reason IS NOT NULL THEN t.reason
        WHEN c.reason IS NOT NULL THEN c.reason
        WHEN d.tasks IS NULL THEN 'no task has trials in both arms'
        WHEN d.delta_rate IS NULL
            THEN if((SELECT max(primary_outcome) FROM study) = 'checks', 'a trial has no share of points', 'a task has no verifier')
    END AS delta_rate_reason
FROM parts AS p
LEFT JOIN arms AS t ON t.variant = p.treatment_variant
LEFT JOIN arms AS c ON c.variant = p.control_variant
LEFT JOIN deltas AS d ON d.part = p.part
WHERE EXISTS (SELECT 1 FROM conditions WHERE variant IN ('flat-files', 'flat-toc'))
ORDER BY p.position;
