-- question: How much of the Skill's knowledge reached the agent, when, and at what cost?
-- section: RQ3
-- grain: one row is one condition
-- columns: condition, trials, units_share, repeats, bytes, tokens, tokens_per_unit, never,
--   median_step, median_seconds
-- arms: condition
-- read: All layouts are measured in the same knowledge units, so a flat Skill and one with many files are
--   comparable. Empty without a knowledge map.
-- empty: These runs have no knowledge map (`skilljuror build` and `run` create one). For bytes of Skill text
--   shown, see `skilljuror query STUDY by_skill`.
-- column trials: trials with a knowledge map whose log could be read
-- column units_share: mean share of the offered units that reached the context of any agent
-- column repeats: mean number of times that the main agent was shown the same unit again
-- column bytes: mean bytes of Skill text shown, repeats included
-- column tokens: mean tokens of Skill text shown; null if tokens were not counted
-- column tokens_per_unit: mean over trials of tokens shown per exposed unit
-- column never: trials in which no unit reached the main agent
-- column median_step: median step of the first unit, 0 before the first step; trials without one count as
--   later than all others; null if half or more have none
-- column median_seconds: the same from the start of the log; also null if the log has no times
WITH found AS (
    SELECT
        r.condition, r.position, r.run,
        max(m.value) FILTER (WHERE metric = 'unit_exposure_share') AS share,
        max(m.value) FILTER (WHERE metric = 'unit_repeats') AS repeats,
        max(m.value) FILTER (WHERE metric = 'skill_bytes_shown') AS bytes,
        max(m.value) FILTER (WHERE metric = 'skill_tokens_shown') AS tokens,
        max(m.value) FILTER (WHERE metric = 'tokens_per_exposed_unit') AS per_unit,
        max(m.value) FILTER (WHERE metric = 'first_exposure_step') AS step,
        max(m.value) FILTER (WHERE metric = 'first_exposure_seconds') AS seconds,
        bool_or(metric = 'first_exposure_step' AND m.reason = 'never') AS never,
        bool_or(metric = 'first_exposure_seconds' AND m.reason = 'no_timestamps') AS untimed
    FROM arm_runs AS r
    JOIN measures AS m ON r.usable AND m.trial = r.run AND m.key = ''
    GROUP BY r.condition, r.position, r.run
    HAVING max(m.value) FILTER (WHERE metric = 'units_offered') IS NOT NULL
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
    count(*) AS trials,
    avg(share) AS units_share,
    avg(repeats) AS repeats,
    avg(bytes) AS bytes,
    avg(tokens) AS tokens,
    avg(per_unit) AS tokens_per_unit,
    count(*) FILTER (WHERE never) AS never,
    if(isinf(any_value(middle_step)), NULL, any_value(middle_step)) AS median_step,
    if(isinf(any_value(middle_seconds)) OR bool_or(untimed), NULL, any_value(middle_seconds))
        AS median_seconds
FROM medians
GROUP BY condition, position
ORDER BY position;
