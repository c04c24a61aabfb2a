-- question: How much of the plan was run, scored and read?
-- section: RQ2
-- grain: one row is one condition
-- columns: condition, planned, scored, timeout, unscored, no_answer, error, missing, final,
--   contaminated, usable, coverage, attempts, rerun, accepted, readable, judged, decided
-- read: Figures use usable trials only, and rates of passes need all: see docs/formulas.md.
-- empty: No planned trials. `skilljuror run` with a study file plans and runs them. For foreign logs,
--   `skilljuror query STUDY source_counts` shows how much was read.
-- column scored: the verifier gave a reward in time
-- column timeout: the agent ran out of time, with or without a reward
-- column unscored: the agent finished, the verifier gave no reward
-- column no_answer: unscored because, by its log, no model answered the agent, or none after a provider error
-- column error: the trial failed, or an agent that writes a log left none
-- column missing: planned, never finished
-- column final: trials with a final outcome: a reward, a timeout, or accepted by a person
-- column contaminated: trials that are invalid for their arm (question quality_flags gives the reason)
-- column usable: trials that figures may use: final and not contaminated
-- column coverage: final / planned
-- column attempts: attempts at these trials, including earlier ones (question attempts)
-- column rerun: trials that were run more than once
-- column accepted: trials whose result a person accepted as final; without a reward they count as not passed
-- column readable: trials whose log could be read
-- column judged: readable trials with at least one judged event
-- column decided: of these, trials with at least one yes or no; uptake is unknown for the others
SELECT
    r.condition,
    count(*) AS planned,
    count(*) FILTER (WHERE status = 'scored') AS scored,
    count(*) FILTER (WHERE status = 'timeout') AS timeout,
    count(*) FILTER (WHERE status = 'unscored' AND reason IS NULL) AS unscored,
    count(*) FILTER (WHERE reason = 'no_answer') AS no_answer,
    count(*) FILTER (WHERE status = 'error') AS error,
    count(*) FILTER (WHERE status = 'missing') AS missing,
    count(*) FILTER (WHERE final) AS final,
    count(*) FILTER (WHERE unusable = 'contaminated') AS contaminated,
    count(*) FILTER (WHERE unusable IS NULL) AS usable,
    count(*) FILTER (WHERE final) / count(*) AS coverage,
    CAST(count(*) FILTER (WHERE status <> 'missing') + coalesce(sum(t.earlier), 0) AS BIGINT) AS attempts,
    count(*) FILTER (WHERE t.earlier + CAST(status <> 'missing' AS INTEGER) > 1) AS rerun,
    count(*) FILTER (WHERE run IN (SELECT trial FROM acceptances)) AS accepted,
    count(*) FILTER (WHERE logged) AS readable,
    count(*) FILTER (
        WHERE run IN (SELECT run FROM judged_uses)
    ) AS judged,
    count(*) FILTER (
        WHERE run IN (
            SELECT run FROM judged_uses WHERE label <> 'unknown'
        )
    ) AS decided
FROM arm_runs AS r
LEFT JOIN (SELECT trial, count(*) AS earlier FROM attempts GROUP BY trial) AS t ON t.trial = r.run
WHERE status <> 'observed'
GROUP BY r.condition, r.position
ORDER BY r.position;
