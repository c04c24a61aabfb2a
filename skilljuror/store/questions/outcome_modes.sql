-- question: How do trials end that do not solve their task?
-- section: RQ2
-- grain: one row is one condition and mode
-- columns: condition, mode, trials, trial_share, unsolved_share
-- arms: condition
-- whole: trial_share, unsolved_share
-- read: The first mode that fits counts, in the order below. Nothing is asked of a model.
-- empty: No trial has a final outcome; `skilljuror query STUDY coverage` gives the reasons.
-- column mode: solved: reward 1. Of the others: timeout if one was recorded; execution: an exception of the agent;
--   coherence: a reward between 0 and 1; verification: a reward of 0; unscored: none of these, such as a task
--   without a verifier
-- column trials: usable trials
-- column trial_share: of all trials of the condition, a fraction
-- column unsolved_share: of its trials that are not solved; null for solved ones
WITH ended AS (
    SELECT
        condition, position,
        CASE
            WHEN reward = 1 THEN 'solved'
            WHEN status = 'timeout' OR contains(lower(exception), 'timeout') THEN 'timeout'
            WHEN exception IS NOT NULL THEN 'execution'
            WHEN reward > 0 THEN 'coherence'
            WHEN reward = 0 THEN 'verification'
            ELSE 'unscored'
        END AS mode
    FROM arm_runs
    WHERE usable AND final AND verified AND status <> 'observed'
)
SELECT
    condition, mode, count(*) AS trials,
    trials / sum(trials) OVER (PARTITION BY condition) AS trial_share,
    if(mode = 'solved', NULL, trials / sum(trials) FILTER (WHERE mode <> 'solved') OVER (PARTITION BY condition))
        AS unsolved_share
FROM ended
GROUP BY condition, position, mode
ORDER BY position, condition,
    list_position(['solved', 'timeout', 'execution', 'coherence', 'verification', 'unscored'], mode);
