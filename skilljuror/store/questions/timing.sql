-- question: When in a run is the Skill used?
-- section: RQ3
-- grain: one row is one condition
-- columns: condition, readable, skill_steps, early_share, middle_share, late_share,
--   exposed_trials, distributed_trials, distributed_rate, distributed_rate_all, short_trials
-- arms: condition
-- read: Early, middle and late are thirds of the main agent's steps; the three shares add up to 1.
--   A run is distributed when its Skill-related steps occupy two or more thirds: the agent used it again later.
-- column skill_steps: Skill-related steps of the main agent over all trials
-- column early_share: of these, steps whose midpoint is in the first third
-- column exposed_trials: trials with a Skill-related step
-- column distributed_rate: distributed trials / exposed trials; null if none is exposed
-- column distributed_rate_all: distributed trials / readable trials
-- column short_trials: trials with fewer than three steps, for which thirds mean little
WITH found AS (
    SELECT r.condition, r.position, r.run, r.readable, m.metric, m.key, m.value
    FROM arm_runs AS r
    LEFT JOIN measures AS m
        ON r.usable AND m.trial = r.run
        AND m.metric IN ('skill_steps_in_third', 'exposed', 'distributed', 'fewer_than_three_steps')
),
sums AS (
    SELECT
        condition,
        position,
        count(DISTINCT run) FILTER (WHERE readable) AS readable,
        sum(value) FILTER (WHERE metric = 'skill_steps_in_third') AS skill_steps,
        sum(value) FILTER (WHERE metric = 'skill_steps_in_third' AND key = '0') AS early,
        sum(value) FILTER (WHERE metric = 'skill_steps_in_third' AND key = '1') AS middle,
        sum(value) FILTER (WHERE metric = 'skill_steps_in_third' AND key = '2') AS late,
        sum(value) FILTER (WHERE metric = 'exposed') AS exposed,
        if(exposed IS NULL, NULL, count(*) FILTER (WHERE metric = 'distributed' AND value = 1))
            AS distributed,
        sum(value) FILTER (WHERE metric = 'fewer_than_three_steps') AS short
    FROM found
    GROUP BY condition, position
)
SELECT
    condition,
    readable,
    CAST(skill_steps AS BIGINT) AS skill_steps,
    early / nullif(skill_steps, 0) AS early_share,
    middle / nullif(skill_steps, 0) AS middle_share,
    late / nullif(skill_steps, 0) AS late_share,
    CAST(exposed AS BIGINT) AS exposed_trials,
    distributed AS distributed_trials,
    distributed / nullif(exposed, 0) AS distributed_rate,  -- of exposed trials (A-20)
    distributed / nullif(readable, 0) AS distributed_rate_all,
    CAST(short AS BIGINT) AS short_trials
FROM sums
ORDER BY position;
