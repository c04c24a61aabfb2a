-- question: Which runs were read, and what do they contain?
-- section: lists
-- grain: one row is one run
-- columns: trajectory, trial, format, agent, agent_version, model, started_at, minutes, steps,
--   sub_agents, uses, skills_opened, display_tokens, complete, warnings, source
-- first: started_at, agent, model, minutes, steps, skills_opened, display_tokens, trajectory, trial, uses, warnings
-- sums: steps, uses, display_tokens
-- place: 7
-- column minutes: from the first to the last record of the log
-- column uses: resource events except authoring and mentions
-- column display_tokens: uncached input, cache writes and output; null if the log does not report them
SELECT
    t.trajectory, t.trial, t.format, t.agent, t.agent_version, t.model, t.started_at,
    m.value AS minutes,
    t.steps, t.sub_agents,
    coalesce(u.uses, 0) AS uses,
    coalesce(u.skills_opened, 0) AS skills_opened,
    CAST(d.value AS BIGINT) AS display_tokens,
    t.complete,
    len(t.warnings) AS warnings,
    t.source
FROM trajectories AS t
LEFT JOIN (
    SELECT trajectory, CAST(sum(uses) AS BIGINT) AS uses, count(*) FILTER (opened) AS skills_opened
    FROM (
        SELECT trajectory, skill, count(*) AS uses, bool_or(opens AND ok IS NOT false) AS opened FROM uses GROUP BY ALL
    ) GROUP BY trajectory
) AS u ON u.trajectory = t.trajectory
LEFT JOIN measures AS m
    ON m.trial = coalesce(t.trial, t.trajectory) AND m.metric = 'log_minutes' AND m.key = ''
LEFT JOIN measures AS d
    ON d.trial = coalesce(t.trial, t.trajectory) AND d.metric = 'display_tokens' AND d.key = ''
ORDER BY t.started_at DESC NULLS LAST, t.trajectory;
