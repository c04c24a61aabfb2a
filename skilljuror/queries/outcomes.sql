-- question: Which condition solves more tasks?
-- section: RQ2
-- grain: one row is one condition
-- columns: condition, variant, tasks, planned, settled, coverage, strict_passes, strict_rate,
--   strict_half_width, delta_passes, broad_passes, broad_rate, mean_reward, runtime_successes,
--   runtime_rate, strict_and_runtime, strict_given_runtime
-- read: The strict rate is the number to compare. It divides by the planned trials, so a trial
--   without an outcome counts against its condition; look at coverage before believing a difference.
-- empty: No trial of a study is in this database: `skilljuror run` with a study file plans and runs
--   them. Of logs as they were found `skilljuror query STUDY observed_outcomes` tells how their
--   trials ended, and `skills_opened` what they opened.
-- column strict_passes: trials whose reward is exactly 1 (a missing reward is no pass)
-- column strict_rate: strict passes of planned trials
-- column strict_half_width: Wald 95 % half-width over trials; it ignores that trials of one task
--   are alike, and is null at a rate of 0 or 1 where it would be 0
-- column delta_passes: strict passes minus those of the control; null where the frames differ
-- column broad_passes: trials with a reward above 0
-- column mean_reward: mean over tasks of the mean reward per planned trial, a missing one as 0
-- column runtime_successes: finished trials without a recorded exception
-- column strict_given_runtime: strict passes among runtime successes; null when there are none
WITH frame AS (
    SELECT
        *,
        -- a missing reward is no pass and no reward: the planned frame decides (measures §0)
        coalesce(reward = 1, false) AS strict,
        coalesce(reward > 0, false) AS broad,  -- (A-02)
        coalesce(reward, 0) AS earned,
        status <> 'missing' AND exception IS NULL AS clean
    FROM runs
    WHERE status <> 'observed'
),
tasks_of AS (
    SELECT condition, task, sum(earned) / count(*) AS mean_reward FROM frame GROUP BY ALL
),
rewards AS (
    SELECT condition, avg(mean_reward) AS mean_reward, count(*) AS tasks
    FROM tasks_of GROUP BY condition
),
counts AS (
    SELECT
        condition,
        position,
        count(*) AS planned,
        count(*) FILTER (WHERE settled) AS settled,
        count(*) FILTER (WHERE strict) AS strict_passes,
        count(*) FILTER (WHERE broad) AS broad_passes,
        count(*) FILTER (WHERE clean) AS runtime_successes,
        count(*) FILTER (WHERE strict AND clean) AS strict_and_runtime
    FROM frame
    GROUP BY condition, position
),
control AS (
    SELECT counts.* FROM counts JOIN conditions USING (condition) WHERE role = 'control'
)
SELECT
    n.condition,
    c.variant,
    m.tasks,
    n.planned,
    n.settled,
    n.settled / n.planned AS coverage,
    n.strict_passes,
    n.strict_passes / n.planned AS strict_rate,
    nullif(
        1.959964 * sqrt((n.strict_passes / n.planned) * (1 - n.strict_passes / n.planned) / n.planned),
        0
    ) AS strict_half_width,
    if(k.planned = n.planned AND k.condition <> n.condition, n.strict_passes - k.strict_passes, NULL)
        AS delta_passes,
    n.broad_passes,
    n.broad_passes / n.planned AS broad_rate,
    m.mean_reward,
    n.runtime_successes,
    n.runtime_successes / n.planned AS runtime_rate,
    n.strict_and_runtime,
    -- passes that ran well, not all passes (A-06)
    n.strict_and_runtime / nullif(n.runtime_successes, 0) AS strict_given_runtime
FROM counts AS n
JOIN conditions AS c ON c.condition = n.condition
JOIN rewards AS m ON m.condition = n.condition
LEFT JOIN control AS k ON true
ORDER BY n.position;
