-- question: At which point of a run are the Skill-related steps?
-- section: RQ3
-- grain: one row is one condition and one twentieth of the run
-- columns: condition, bin, from_share, to_share, skill_steps, per_trial
-- arms: condition
-- read: Steps per trial are absolute, not a share: a darker row means more Skill use, not only a different
--   position.
-- empty: No run has a Skill-related step with a known position. `skilljuror query STUDY skills_opened` shows
--   the opened skills.
-- column bin: 0 to 19
-- column per_trial: Skill-related steps in the bin / readable trials
SELECT
    r.condition,
    CAST(m.key AS INTEGER) AS bin,
    CAST(m.key AS INTEGER) / 20 AS from_share,
    (CAST(m.key AS INTEGER) + 1) / 20 AS to_share,
    CAST(sum(m.value) AS BIGINT) AS skill_steps,
    avg(m.value) AS per_trial
FROM arm_runs AS r
JOIN measures AS m ON r.usable AND m.trial = r.run AND m.metric = 'skill_steps_in_bin'
GROUP BY r.condition, r.position, m.key
ORDER BY r.position, bin;
