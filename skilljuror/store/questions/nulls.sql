-- question: Which measures are missing, and why?
-- section: lists
-- grain: one row is one measure, condition and reason
-- columns: metric, key, condition, reason, nulls, trials
-- empty: Every measure of every run has a value.
-- column nulls: trials without a value for this reason
-- column trials: trials of the condition that have a row of this measure
SELECT metric, key, condition, reason, nulls, CAST(trials AS BIGINT) AS trials
FROM (
    SELECT
        m.metric, m.key, r.condition, r.position, m.reason, count(*) FILTER (m.value IS NULL) AS nulls,
        sum(count(*)) OVER (PARTITION BY m.metric, m.key, r.condition) AS trials
    FROM measures AS m
    JOIN runs AS r ON r.run = m.trial
    GROUP BY m.metric, m.key, r.condition, r.position, m.reason
)
WHERE nulls > 0
ORDER BY metric, key, position, nulls DESC, reason;
