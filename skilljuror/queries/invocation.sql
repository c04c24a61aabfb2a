-- question: How often was an offered Skill taken up at all?
-- section: RQ3
-- grain: one row is one condition
-- columns: condition, readable, invoked, invocation_rate, reward_invoked, reward_not_invoked,
--   never, median_step, median_seconds
-- read: A Skill that is never opened cannot help, however it is laid out. The two mean rewards are
--   not an effect: which trials open the Skill is the agent's choice.
-- column invoked: readable trials in which an agent, a sub-agent included, activated a Skill or read
--   its SKILL.md with content
-- column reward_invoked: mean reward of these trials, scored ones only; null when there are none
-- column never: readable trials in which the main agent itself invoked none
-- column median_step: median step of the main agent's first invocation; 0 is before the first step;
--   trials that never invoked one count as later than all others; null when these are half or more
-- column median_seconds: the same from the start of the log; null too where a log tells no times
WITH found AS (
    SELECT
        r.condition, r.position, r.run, r.reward, r.readable,
        max(m.value) FILTER (WHERE metric = 'skill_invoked') AS invoked,
        max(m.value) FILTER (WHERE metric = 'invocation_step') AS step,
        max(m.value) FILTER (WHERE metric = 'invocation_seconds') AS seconds,
        bool_or(metric = 'invocation_step' AND m.reason = 'never') AS never,
        bool_or(metric = 'invocation_seconds' AND m.reason = 'no_timestamps') AS untimed
    FROM runs AS r
    LEFT JOIN measures AS m
        ON m.trial = r.run
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
