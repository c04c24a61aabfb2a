-- question: Was the root of an opened Skill shown whole?
-- section: RQ3
-- grain: one row is one condition, agent and version of the agent
-- columns: condition, agent, agent_version, readable, opened, whole, whole_rate_low, whole_rate_high, mean_share,
--   lowest_share, unknown
-- first: condition, agent, agent_version, opened, whole, whole_rate_low, whole_rate_high, mean_share, lowest_share
-- place: 6
-- arms: condition
-- read: A flat Skill is flat only if its SKILL.md is read whole; many agents read the first 200 lines or so. If
--   the share differs between two conditions, the difference of their outcomes mixes layout with what was cut off.
-- column readable: trials or runs whose log could be read
-- column opened: those in which the main agent was shown text of a SKILL.md
-- column whole: those in which it was shown every line of every SKILL.md that it opened
-- column whole_rate_low: whole / opened
-- column whole_rate_high: the same if all unknown ones were whole
-- column mean_share: mean share of the lines of the opened SKILL.md files that were shown; null with unknown ones
-- column lowest_share: the lowest known share
-- column unknown: those with a part of a SKILL.md of unknown length, or at unknown lines
WITH found AS (
    SELECT
        r.condition, r.position, t.agent, t.agent_version, m.value,
        coalesce(m.reason = 'unknown_lines', false) AS unknown
    FROM arm_runs AS r
    JOIN (
        SELECT coalesce(trial, trajectory) AS run, min(agent) AS agent,
            min(agent_version) AS agent_version
        FROM trajectories
        GROUP BY run
    ) AS t ON t.run = r.run
    LEFT JOIN measures AS m ON m.trial = r.run AND m.metric = 'root_shown' AND m.key = ''
    WHERE r.readable
),
counted AS (
    SELECT
        condition, position, agent, agent_version,
        count(*) AS readable,
        count(*) FILTER (WHERE unknown) AS unknown,
        count(value) + count(*) FILTER (WHERE unknown) AS opened,
        count(*) FILTER (WHERE value = 1) AS whole,
        avg(value) AS mean,
        min(value) AS lowest_share
    FROM found
    GROUP BY condition, position, agent, agent_version
)
SELECT
    condition, agent, agent_version, readable, opened, whole,
    whole / nullif(opened, 0) AS whole_rate_low,
    (whole + unknown) / nullif(opened, 0) AS whole_rate_high,
    if(unknown = 0, mean, NULL) AS mean_share,
    lowest_share,
    unknown
FROM counted
ORDER BY position, opened > 0 DESC, agent, agent_version;
