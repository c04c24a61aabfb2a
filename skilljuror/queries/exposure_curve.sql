-- question: How fast does the knowledge of the Skill reach the agent?
-- section: RQ3
-- grain: one row is one condition and one point of the run
-- columns: condition, position, trajectories, units_share, units_share_low, units_share_high
-- read: A flat layout delivers everything at once; one that discloses step by step climbs later and
--   may stay lower, because the agent takes only what it needs.
-- empty: No knowledge map was built for these runs, as `skilljuror build` and `run` make it: how
--   much of a Skill was shown is told by `skilljuror query STUDY by_skill`, in bytes.
-- column position: share of the main agent's steps that are over; 0 is before the first step
-- column units_share: mean over trajectories of the knowledge units seen so far of those offered
-- column units_share_low: lower quartile of the same
-- column units_share_high: upper quartile of the same
WITH known AS (
    SELECT coalesce(trial, trajectory) AS run, trajectory, units, steps
    FROM trajectories
    WHERE units > 0 AND steps > 0
),
arrivals AS (
    SELECT trajectory, unit, min(step) AS step
    FROM exposure WHERE agent = 'main' GROUP BY ALL
),
points AS (
    SELECT unnest(range(0, 21)) AS point
),
shares AS (
    -- the midpoint of step s of m is at (2s - 1) / 2m; step 0 is before everything
    SELECT
        k.run, k.trajectory, p.point,
        count(*) FILTER (WHERE a.step = 0 OR 20 * (2 * a.step - 1) <= 2 * k.steps * p.point)
            / any_value(k.units) AS share
    FROM known AS k
    CROSS JOIN points AS p
    LEFT JOIN arrivals AS a ON a.trajectory = k.trajectory
    GROUP BY k.run, k.trajectory, p.point
)
SELECT
    r.condition,
    s.point / 20 AS position,
    count(*) AS trajectories,
    avg(s.share) AS units_share,
    quantile_cont(s.share, 0.25) AS units_share_low,
    quantile_cont(s.share, 0.75) AS units_share_high
FROM shares AS s
JOIN runs AS r ON r.run = s.run
GROUP BY r.condition, r.position, s.point
ORDER BY r.position, s.point;
