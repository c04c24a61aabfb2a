-- question: How quickly does the Skill's knowledge reach the agent?
-- section: RQ3
-- grain: one row is one condition and one point of the run
-- columns: condition, position, trajectories, units_share, units_share_low, units_share_high
-- arms: condition
-- read: A flat layout delivers everything at once. A layout with progressive disclosure rises later and may
--   stay lower, because the agent reads only the parts that it needs.
-- empty: These runs have no knowledge map (`skilljuror build` and `run` create one). For bytes of Skill text
--   shown, see `skilljuror query STUDY by_skill`.
-- column position: completed share of the main agent's steps; 0 is before the first step
-- column units_share: mean over trajectories of units seen so far / units offered
-- column units_share_low: lower quartile of the same
-- column units_share_high: upper quartile of the same
WITH known AS (
    SELECT coalesce(trial, trajectory) AS run, trajectory, units, steps
    FROM trajectories
    WHERE units > 0 AND steps > 0
),
shown AS MATERIALIZED (  -- events that showed the same units have the same `text`
    SELECT trajectory, ordinal, step, hash(sum(hash(unit)), count(*)) AS text
    FROM exposure WHERE agent = 'main' GROUP BY ALL
),
texts AS MATERIALIZED (
    SELECT s.text, e.unit
    FROM (SELECT unnest(min((trajectory, ordinal, step, text)), recursive := true) FROM shown GROUP BY text)
        AS s (trajectory, ordinal, step, text)
    JOIN exposure AS e ON e.trajectory = s.trajectory AND e.ordinal = s.ordinal AND e.step = s.step AND e.agent = 'main'
),
orders AS MATERIALIZED (
    SELECT trajectory, list(text ORDER BY step, text) AS texts, list(step ORDER BY step, text) AS steps
    FROM (SELECT trajectory, text, min(step) AS step FROM shown GROUP BY ALL) GROUP BY trajectory
),
counts AS (  -- units that a text of such an order shows first
    SELECT texts, place, count(*) AS units
    FROM (
        SELECT o.texts, t.unit, min(o.place) AS place
        FROM (
            SELECT texts, unnest(texts) AS text, generate_subscripts(texts, 1) AS place
            FROM (SELECT DISTINCT texts FROM orders)
        ) AS o JOIN texts AS t USING (text)
        GROUP BY ALL
    ) GROUP BY ALL
),
arrivals AS (  -- the midpoint of step s of m is at (2s - 1) / 2m; step 0 is before everything
    SELECT
        k.run, k.units AS offered, c.units, o.steps[c.place] AS step,
        if(step = 0, 0, ceil(20 * (2 * step - 1) / (2 * k.steps)))::INTEGER AS point
    FROM known AS k LEFT JOIN orders AS o USING (trajectory) LEFT JOIN counts AS c USING (texts)
),
shares AS (
    SELECT
        run, unnest(range(0, 21)) AS point,
        unnest(list_transform(range(0, 21), lambda p:
            coalesce(list_sum(list_filter(units, lambda n, i: points[i] <= p)), 0) / offered)) AS share
    FROM (SELECT run, offered, list(point) AS points, list(units) AS units FROM arrivals GROUP BY ALL)
)
SELECT
    r.condition,
    s.point / 20 AS position,
    count(*) AS trajectories,
    avg(s.share) AS units_share,
    quantile_cont(s.share, 0.25) AS units_share_low,
    quantile_cont(s.share, 0.75) AS units_share_high
FROM shares AS s
JOIN arm_runs AS r ON r.usable AND r.run = s.run
GROUP BY r.condition, r.position, s.point
ORDER BY r.position, s.point;
