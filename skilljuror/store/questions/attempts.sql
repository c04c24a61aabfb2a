-- question: Which trials were run more than once, and which results did a person accept as final?
-- section: RQ2
-- grain: one row is one attempt
-- columns: trial, condition, attempt, last, status, reward, exception, message, accepted_by, reason
-- read: The last attempt of a trial counts; earlier ones are only recorded. Trials are rerun after failures
--   that say nothing about the agent. If one arm needed more attempts than another, find out why.
-- empty: No trial was run more than once, and no person accepted a result as final.
-- column attempt: attempt number, from 1
-- column last: true for the attempt that counts; a trial without one still has to run
-- column accepted_by: reviewer who accepted the result as final, or null
-- column reason: the reviewer's reason
WITH all_attempts AS (
    SELECT trial, attempt, false AS last, status, reward, exception, message FROM attempts
    UNION ALL BY NAME
    SELECT
        t.trial, 1 + (SELECT count(*) FROM attempts AS e WHERE e.trial = t.trial) AS attempt,
        true AS last, t.status, t.reward, t.exception, t.message
    FROM trials AS t
)
SELECT
    a.trial,
    p.condition,
    CAST(a.attempt AS INTEGER) AS attempt,
    a.last,
    a.status,
    a.reward,
    a.exception,
    a.message,
    if(a.last, c.accepted_by, NULL) AS accepted_by,
    if(a.last, c.reason, NULL) AS reason
FROM all_attempts AS a
JOIN planned_trials AS p ON p.trial = a.trial
LEFT JOIN acceptances AS c ON c.trial = a.trial
WHERE c.trial IS NOT NULL OR a.trial IN (SELECT trial FROM attempts)
ORDER BY a.trial, a.attempt;
