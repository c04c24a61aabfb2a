-- question: How did each foreign trial end?
-- section: lists
-- grain: one row is one foreign trial, with or without a log
-- columns: trial, task, agent, model, reward, exception, message, logged, steps, sub_agents, uses,
--   source, reason
-- empty: No log is in a harness trial folder with a readable result.
-- column trial: the harness's id, which is also the key of its run
-- column message: message of the exception, for a trial without a log
-- column logged: true if a log was read; without one, the columns from the log are null
-- column uses: resource events except authoring and mentions
-- column source: main raw log, or the folder of a trial without one
-- column reason: reason why no log was read
WITH used AS (
    SELECT trajectory, count(*) AS uses FROM uses GROUP BY trajectory
),
ends AS (
    SELECT
        t.trajectory AS trial, t.task, t.agent, t.model, t.reward, t.exception, true AS logged,
        t.steps, t.sub_agents,
        coalesce(u.uses, 0) AS uses,  -- a run without a row has no event: zero
        t.source
    FROM trajectories AS t
    LEFT JOIN used AS u ON u.trajectory = t.trajectory
    WHERE t.trial IS NULL AND t.task IS NOT NULL
    UNION ALL BY NAME
    SELECT
        a.trial, a.task, a.agent, a.model, a.reward, a.exception, a.message, false AS logged,
        a.source, s.reason
    FROM unlogged_trials AS a
    LEFT JOIN sources AS s ON s.path = a.source
)
SELECT
    trial, task, agent, model, reward, exception, message, logged, steps, sub_agents, uses, source,
    reason
FROM ends
ORDER BY task, agent, model, trial;
