-- question: What is the evidence for each use of a resource?
-- section: lists
-- grain: one row is one use and one judge's answer
-- columns: run, agent, step, line, source, skill, resource, kind, via, ok, quote, label, category,
--   source_quote, action_quote, action_step, judge
-- params: run=null, skill=null, first_uses=null
-- read: with `first_uses` it lists at least so many uses, to the end of a run; null lists all.
-- column line: place in the raw log: 1-based line, or element number if the log is one JSON document
-- column quote: short excerpt of the call or its result
-- column source_quote: text of the resource
-- column action_quote: the agent's action on it
WITH found AS NOT MATERIALIZED (
    FROM uses
    WHERE (CAST($run AS VARCHAR) IS NULL OR run = CAST($run AS VARCHAR))
        AND (CAST($skill AS VARCHAR) IS NULL OR skill = CAST($skill AS VARCHAR))
),
first AS (
    SELECT run FROM (SELECT run, sum(count(*)) OVER (ORDER BY run) - count(*) AS earlier FROM found GROUP BY run)
    WHERE CAST($first_uses AS BIGINT) IS NULL OR earlier < CAST($first_uses AS BIGINT)
)
SELECT
    u.run, u.agent, u.step, u.line, u.source, u.skill, u.resource, u.kind, u.via, u.ok, u.quote,
    v.label, v.category, v.source_quote, v.action_quote, v.action_step, v.judge
FROM found AS u
JOIN first USING (run)
LEFT JOIN verdicts AS v ON v.event = u.event
ORDER BY u.run, u.trajectory, u.ordinal, v.judge;
