-- question: How often was an offered Skill invoked?
-- section: RQ3
-- grain: one row is one condition
-- columns: condition, readable, invoked, invocation_rate, reward_invoked, reward_not_invoked,
--   never, median_step, median_seconds
-- arms: condition
-- read: A Skill that is never opened cannot help, whatever its layout. The difference of the two mean rewards
--   is not an effect: the agent itself chooses to open the Skill.
-- column invoked: readable trials in which an agent (main or sub-agent) activated a Skill or read content of
--   its SKILL.md
-- column reward_invoked: mean reward of the scored trials among these; null if there are none
-- column never: readable trials in which the main agent invoked no Skill
-- column median_step: median step of the main agent's first invocation; 0 is before the first step; trials
--   without one count as later than all others; null if half or more have none
-- column median_seconds: the same from the start of the log; also null if the log has no times
WITH found AS (
    SELECT
        r.condition, r.position, r.run, r.reward, r.readable,
        max(m.value) FILTER (WHERE metric = 'skill_invoked') AS invoked,
        max(m.value) FILTER (WHERE metric = 'invocation_step') AS step,
        max(m.value) FILTER (WHERE metric = 'invocation_seconds') AS seconds,
        bool_or(metric = 'invocation_step' AND m.reason = 'never') AS never,
        bool_or(metric = 'invocation_seconds' AND m.reason = 'no_timestamps') AS untimed
    FROM arm_runs AS r
    LEFT JOIN measures AS m
        ON r.usable AND m.trial = r.run
        AND m.key IN ('', 'sub')
        AND m.metric IN ('skill_invoked', 'invocation_step', 'invocation_seconds')
    GROUP BY r.condition, r.position, r.run, r.reward, r.readable
),
medians AS (
    SELECT
        *,
        median(if(never, 'inf'::DOUBLE, step)) OVER of_condition AS middle_step,
        median(if(never, 'inf'::DOUBLE, seconds)) OVER of_condition AS middle_seconds
    FROM found
    WINDOW of_condition AS (PARTITION BY condition)
)
SELECT
    condition,
    count(*) FILTER (WHERE readable) AS readable,
    CAST(sum(invoked) AS BIGINT) AS invoked,
    avg(invoked) AS invocation_rate,
    avg(reward) FILTER (WHERE invoked = 1) AS reward_invoked,
    avg(reward) FILTER (WHERE invoked = 0) AS reward_not_invoked,
    count(*) FILTER (WHERE never) AS never,
    if(isinf(any_value(middle_step)), NULL, any_value(middle_step)) AS median_step,
    if(isinf(any_value(middle_seconds)) OR bool_or(untimed), NULL, any_value(middle_seconds))
        AS median_seconds
FROM medians
GROUP BY condition, position
ORDER BY position;
