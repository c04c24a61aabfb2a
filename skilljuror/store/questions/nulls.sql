-- question: Which measures are missing, and why?
-- section: lists
-- grain: one row is one measure, condition and reason
-- columns: metric, key, condition, reason, nulls, trials
-- empty: Every measure of every run has a value.
-- column nulls: trials without a value for this reason
-- column trials: trials of the condition that have a row of this measure
WITH found AS (
    SELECT
        m.metric, m.key, r.condition, r.position, m.value, m.reason,
        count(*) OVER (PARTITION BY m.metric, m.key, r.condition) AS trials
    FROM measures AS m
    JOIN runs AS r ON r.run = m.trial
)
SELECT metric, key, condition, reason, count(*) AS nulls, trials
FROM found
WHERE value IS NULL
GROUP BY metric, key, condition, position, reason, trials
ORDER BY metric, key, position, nulls DESC, reason;
