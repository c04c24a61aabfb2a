-- question: Which condition solves more tasks?
-- section: RQ2
-- grain: one row is one condition
-- columns: condition, variant, tasks, planned, final, coverage, strict_passes, strict_rate,
--   delta_passes, broad_passes, broad_rate, mean_reward, points_share, runtime_successes,
--   runtime_rate, strict_and_runtime, strict_given_runtime
-- first: condition, strict_rate, strict_passes, planned, tasks, delta_passes, mean_reward, coverage
-- place: 8
-- arms: condition
-- whole: strict_rate, delta_passes, broad_rate, mean_reward, points_share, runtime_rate, strict_given_runtime
-- params: tasks=null
-- read: Compare the strict rate. It divides by the planned trials; counts include trials that are not usable.
-- empty: No planned trials. `skilljuror run` with a study file plans and runs them. For foreign logs,
--   `skilljuror query STUDY observed_outcomes` shows the outcomes of their trials, and `skills_opened` the
--   resources that they opened.
-- column strict_passes: trials with a reward of exactly 1 (a missing reward is not a pass); null without a verifier
-- column strict_rate: strict passes / planned trials of tasks with a verifier
-- column delta_passes: strict passes minus those of the control; null if the planned trials differ, one of the
--   control is not usable, and for an arm besides the treatment that differs in more than the Skill
-- column broad_passes: trials with a reward above 0
-- column mean_reward: mean over tasks of the mean reward per planned trial, counting a missing reward as 0
-- column points_share: mean over tasks of the mean share of points that tests, or items of a rubric, awarded (view
--   check_shares); null while a trial has none
-- column runtime_successes: finished trials without a recorded exception
-- column strict_given_runtime: strict passes / runtime successes; null if there are none
WITH frame AS (
    SELECT
        *,
        -- a missing reward is no pass and no reward: the planned frame decides (measures §0)
        if(verified, coalesce(reward > 0, false), NULL) AS broad,  -- (A-02)
        if(verified, coalesce(reward, 0), NULL) AS earned,
        status <> 'missing' AND exception IS NULL AS clean
    FROM arm_runs
    WHERE status <> 'observed'
        AND (CAST($tasks AS VARCHAR) IS NULL OR list_contains(string_split(CAST($tasks AS VARCHAR), ' '), task))
),
tasks_of AS (
    SELECT condition, task, avg(earned) AS mean_reward, if(count(*) = count(s.share), avg(s.share), NULL) AS share
    FROM frame LEFT JOIN check_shares AS s ON s.trial = frame.run
    GROUP BY ALL
),
rewards AS (
    SELECT
        condition, avg(mean_reward) AS mean_reward, count(*) AS tasks,
        if(count(*) = count(share), avg(share), NULL) AS points_share
    FROM tasks_of GROUP BY condition
),
counts AS (
    SELECT
        condition,
        position,
        count(*) AS planned,
        count(*) FILTER (WHERE final) AS final,
        count(*) FILTER (WHERE usable) AS usable,
        count(*) FILTER (WHERE verified) AS verified,
        CAST(sum(strict::INTEGER) AS BIGINT) AS strict_passes,
        CAST(sum(broad::INTEGER) AS BIGINT) AS broad_passes,
        count(*) FILTER (WHERE clean) AS runtime_successes,
        count(*) FILTER (WHERE verified AND clean) AS verified_clean,
        CAST(sum((strict AND clean)::INTEGER) AS BIGINT) AS strict_and_runtime
    FROM frame
    GROUP BY condition, position
),
control AS (
    SELECT counts.*, setting FROM counts JOIN conditions USING (condition)
    WHERE role = 'control' AND usable = planned
)
SELECT
    n.condition,
    c.variant,
    m.tasks,
    n.planned,
    n.final,
    n.final / n.planned AS coverage,
    n.strict_passes,
    n.strict_passes / nullif(n.verified, 0) AS strict_rate,
    if(
        k.planned = n.planned AND k.condition <> n.condition AND (c.role = 'treatment' OR c.setting = k.setting),
        n.strict_passes - k.strict_passes, NULL
    ) AS delta_passes,
    n.broad_passes,
    n.broad_passes / nullif(n.verified, 0) AS broad_rate,
    m.mean_reward,
    m.points_share,
    n.runtime_successes,
    n.runtime_successes / n.planned AS runtime_rate,
    n.strict_and_runtime,
    -- passes that ran well, not all passes (A-06)
    n.strict_and_runtime / nullif(n.verified_clean, 0) AS strict_given_runtime
FROM counts AS n
JOIN conditions AS c ON c.condition = n.condition
JOIN rewards AS m ON m.condition = n.condition
LEFT JOIN control AS k ON true
ORDER BY n.position;
