-- question: How much of the plan was run, scored and read?
-- section: RQ2
-- grain: one row is one condition
-- columns: condition, planned, scored, timeout, unscored, error, missing, settled, coverage,
--   attempts, rerun, accepted, readable, judged, decided
-- read: A rate counts every planned trial. Where coverage is below 1, some trials have no final
--   outcome yet; they count as not passed, and the headline must not be quoted.
-- empty: No trial of a study is in this database: `skilljuror run` with a study file plans and runs
--   them. Of logs as they were found `skilljuror query STUDY source_counts` tells how much was
--   read.
-- column scored: the verifier gave a reward in time
-- column timeout: the agent ran out of time, with or without a reward
-- column unscored: the agent ended, the verifier gave no reward
-- column error: the trial broke
-- column missing: planned and never finished
-- column settled: trials with a final outcome: a reward, the time ran out, or a person took it as final
-- column coverage: settled of planned
-- column attempts: every try at these trials, earlier ones included (question attempts)
-- column rerun: trials that were tried more than once
-- column accepted: trials whose end a person took as final; without a reward they count as not passed
-- column readable: trials whose log could be read
-- column judged: readable trials with at least one judged event
-- column decided: of these, trials of which a judge said yes or no to at least one event; of the others
--   nothing is known about uptake
SELECT
    r.condition,
    count(*) AS planned,
    count(*) FILTER (WHERE status = 'scored') AS scored,
    count(*) FILTER (WHERE status = 'timeout') AS timeout,
    count(*) FILTER (WHERE status = 'unscored') AS unscored,
    count(*) FILTER (WHERE status = 'error') AS error,
    count(*) FILTER (WHERE status = 'missing') AS missing,
    count(*) FILTER (WHERE settled) AS settled,
    count(*) FILTER (WHERE settled) / count(*) AS coverage,
    CAST(count(*) FILTER (WHERE status <> 'missing') + coalesce(sum(t.earlier), 0) AS BIGINT) AS attempts,
    count(*) FILTER (WHERE t.earlier + CAST(status <> 'missing' AS INTEGER) > 1) AS rerun,
    count(*) FILTER (WHERE run IN (SELECT trial FROM acceptances)) AS accepted,
    count(*) FILTER (WHERE readable) AS readable,
    count(*) FILTER (
        WHERE run IN (SELECT u.run FROM uses AS u JOIN verdicts AS v ON v.event = u.event)
    ) AS judged,
    count(*) FILTER (
        WHERE run IN (
            SELECT u.run FROM uses AS u JOIN verdicts AS v ON v.event = u.event
            WHERE v.label <> 'unknown'
        )
    ) AS decided
FROM runs AS r
LEFT JOIN (SELECT trial, count(*) AS earlier FROM attempts GROUP BY trial) AS t ON t.trial = r.run
WHERE status <> 'observed'
GROUP BY r.condition, r.position
ORDER BY r.position;
