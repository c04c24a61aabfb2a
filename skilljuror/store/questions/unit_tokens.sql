-- question: Which knowledge units cost the most input tokens?
-- section: RQ2
-- grain: one row is one condition, task and knowledge unit that was shown, the most expensive of the condition
-- columns: condition, task, file, first_line, last_line, kind, unit, runs, seen, seen_share, tokens, carried
-- arms: condition
-- params: condition=null, task=null, top=20
-- read: A unit is sent again with each later request of the agent that was shown it, until a compaction removes it or
--   the run ends. A unit that few runs were shown and that costs much is one to move out of the way of the others.
-- empty: No unit was shown, or these runs have no knowledge map (`skilljuror build` and `run` create one). For files,
--   see `skilljuror query STUDY context_tokens`.
-- column file: its file in the variant that the condition offers
-- column runs: trials of the condition and task with a readable log and a knowledge map, without those whose log does
--   not say what a compaction kept
-- column seen: of these, trials in which any agent was shown the unit
-- column seen_share: seen / runs
-- column tokens: tokens of its text, by o200k_base
-- column carried: mean over `runs` of its tokens times the requests that contained it: an estimate
WITH logs AS (
    SELECT r.condition, r.position, r.task, r.run, t.trajectory, c.variant
    FROM trajectories AS t
    JOIN arm_runs AS r ON r.usable AND r.run = t.trial
    JOIN trials AS c ON c.trial = t.trial
    WHERE t.units > 0
        AND (CAST($condition AS VARCHAR) IS NULL OR r.condition = CAST($condition AS VARCHAR))
        AND (CAST($task AS VARCHAR) IS NULL OR r.task = CAST($task AS VARCHAR))
        AND NOT EXISTS (SELECT 1 FROM stays AS s WHERE s.trajectory = t.trajectory AND NOT s.certain)
),
counts AS (SELECT condition, task, count(DISTINCT run) AS runs FROM logs GROUP BY ALL),
shown AS (
    SELECT
        l.condition, l.position, l.task, l.variant, x.unit,
        count(DISTINCT l.run) AS seen,
        sum(coalesce(b.requests, 0) - coalesce(a.requests, 0)) AS requests  -- no step, no request
    FROM logs AS l
    JOIN exposure AS x ON x.trajectory = l.trajectory
    JOIN stays AS s ON s.trajectory = x.trajectory AND s.ordinal = x.ordinal
    LEFT JOIN requests AS a ON a.trajectory = s.trajectory AND a.agent = s.agent AND a.step = s.step
    LEFT JOIN requests AS b ON b.trajectory = s.trajectory AND b.agent = s.agent AND b.step = s.until
    GROUP BY ALL
)
SELECT
    s.condition, s.task, p.file, p.first_line, p.last_line, u.kind, u.unit, c.runs, s.seen,
    s.seen / c.runs AS seen_share,
    u.tokens,
    u.tokens * s.requests / c.runs AS carried
FROM shown AS s
JOIN counts AS c USING (condition, task)
JOIN units AS u ON u.build = s.task AND u.unit = s.unit
LEFT JOIN unit_places AS p ON p.build = s.task AND p.variant = s.variant AND p.unit = s.unit
QUALIFY row_number() OVER (
    PARTITION BY s.condition ORDER BY carried DESC, s.task, p.file, p.first_line, u.unit
) <= CAST($top AS INTEGER)
ORDER BY s.position, carried DESC, s.task, p.file, p.first_line, u.unit;
