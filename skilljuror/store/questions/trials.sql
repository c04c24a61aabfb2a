-- question: How did each planned trial end?
-- section: lists
-- grain: one row is one planned trial that counts: all, but for the spares of a study with `healthy_first`
-- columns: trial, task, condition, number, status, reward, strict, exception, minutes,
--   display_tokens, cost_usd, agent_steps, skill_steps, fanout, trajectory, source, message, unusable
-- params: task=null, condition=null, tasks=null
-- empty: No planned trials. `skilljuror run` with a study file plans and runs them. For foreign logs,
--   `skilljuror query STUDY observed_trials` shows the outcomes of their trials, and `trajectories` lists the
--   runs.
-- column minutes: wall-clock time of the agent
-- column source: main raw log
-- column unusable: why no figure may use the trial; null if usable
WITH wide AS (
    SELECT
        trial,
        max(value) FILTER (WHERE metric = 'agent_minutes') AS minutes,
        max(value) FILTER (WHERE metric = 'display_tokens') AS display_tokens,
        max(value) FILTER (WHERE metric = 'cost_usd') AS cost_usd,
        max(value) FILTER (WHERE metric = 'agent_steps') AS agent_steps,
        max(value) FILTER (WHERE metric = 'skill_steps') AS skill_steps,
        max(value) FILTER (WHERE metric = 'fanout') AS fanout
    FROM measures
    WHERE key = ''
    GROUP BY trial
),
logs AS (
    SELECT trial, min(trajectory) AS trajectory, arg_min(source, trajectory) AS source
    FROM trajectories
    GROUP BY trial
)
SELECT
    p.trial,
    p.task,
    p.condition,
    p.number,
    coalesce(t.status, 'missing') AS status,
    t.reward,
    r.strict,
    t.exception,
    w.minutes,
    CAST(w.display_tokens AS BIGINT) AS display_tokens,
    w.cost_usd,
    CAST(w.agent_steps AS BIGINT) AS agent_steps,
    CAST(w.skill_steps AS BIGINT) AS skill_steps,
    CAST(w.fanout AS BIGINT) AS fanout,
    l.trajectory,
    l.source,
    t.message,
    r.unusable
FROM planned_trials AS p
LEFT JOIN trials AS t ON t.trial = p.trial
JOIN arm_runs AS r ON r.run = p.trial
LEFT JOIN wide AS w ON w.trial = p.trial
LEFT JOIN logs AS l ON l.trial = p.trial
WHERE (CAST($task AS VARCHAR) IS NULL OR p.task = CAST($task AS VARCHAR))
    AND (CAST($tasks AS VARCHAR) IS NULL OR list_contains(string_split(CAST($tasks AS VARCHAR), ' '), p.task))
    AND (CAST($condition AS VARCHAR) IS NULL OR p.condition = CAST($condition AS VARCHAR))
ORDER BY p.task, p.condition, p.number;
