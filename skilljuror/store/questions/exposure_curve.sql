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
arrivals AS (  -- the midpoint of step s of m is at (2s - 1) / 2m; step 0 is before everything
    SELECT
        k.run, if(a.step = 0, 0, ceil(20 * (2 * a.step - 1) / (2 * k.steps)))::INTEGER AS point, count(*) AS units
    FROM known AS k
    JOIN (
        SELECT trajectory, unit, min(step) AS step FROM exposure WHERE agent = 'main' GROUP BY ALL
    ) AS a ON a.trajectory = k.trajectory
    GROUP BY ALL
),
shares AS (
    SELECT
        k.run, p.point,
        coalesce(sum(a.units) OVER (PARTITION BY k.run ORDER BY p.point), 0) / k.units AS share
    FROM known AS k
    CROSS JOIN (SELECT unnest(range(0, 21)) AS point) AS p
    LEFT JOIN arrivals AS a ON a.run = k.run AND a.point = p.point
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
