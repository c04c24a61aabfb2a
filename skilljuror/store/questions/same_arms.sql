-- question: Do treatment and control offer the same text to the same agent?
-- section: RQ2
-- grain: one row is the contrast
-- columns: treatment, control, tasks, same_tasks, same_agent, same_arms
-- read: An A/A study offers one variant in both arms: its difference is noise, or a fault of the setup.
-- empty: The database has no two conditions of a study to compare.
-- column tasks: tasks planned in either arm
-- column same_tasks: tasks planned in both arms whose finished trials were all offered one and the same tree of
--   files, by its digest
-- column same_agent: true if agent, options, model, effort and disclosure are the same in all trials of both arms
-- column same_arms: true if all of it is the same
WITH arms AS (
    SELECT
        (SELECT max(treatment) FROM study) AS treatment,
        (SELECT max(control) FROM study) AS control
),
offers AS (
    SELECT
        p.task,
        count(DISTINCT p.condition) = 2
            AND count(t.trial) FILTER (WHERE p.condition = k.treatment) > 0
            AND count(t.trial) FILTER (WHERE p.condition = k.control) > 0
            AND count(t.variant_digest) = count(t.trial)
            AND count(DISTINCT t.variant_digest) = 1 AS same
    FROM arms AS k
    JOIN planned_trials AS p ON p.condition IN (k.treatment, k.control)
    LEFT JOIN trials AS t ON t.trial = p.trial
    GROUP BY p.task
),
agents AS (
    SELECT count(DISTINCT [t.agent, coalesce(t.model, '-'), coalesce(t.effort, '-'), c.setting]) = 1 AS same
    FROM arms AS k
    JOIN conditions AS c ON c.condition IN (k.treatment, k.control)
    JOIN trials AS t ON t.condition = c.condition
)
SELECT
    k.treatment,
    k.control,
    count(*) AS tasks,
    count(*) FILTER (WHERE o.same) AS same_tasks,
    a.same AS same_agent,
    a.same AND bool_and(o.same) AS same_arms
FROM arms AS k
CROSS JOIN agents AS a
CROSS JOIN offers AS o
GROUP BY k.treatment, k.control, a.same;
