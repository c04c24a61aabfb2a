-- question: When in a run is each skill used?
-- section: RQ3
-- grain: one row is one skill and one twentieth of the run
-- columns: skill, bin, from_share, to_share, steps, runs
-- column steps: steps of the main agent with a use of the skill whose midpoint is in this twentieth
-- column runs: runs with such a step
WITH touched AS (
    SELECT DISTINCT u.run, u.trajectory, u.skill, u.step, t.steps AS total
    FROM uses AS u
    JOIN trajectories AS t ON t.trajectory = u.trajectory
    WHERE u.agent = 'main' AND u.step BETWEEN 1 AND t.steps
)
SELECT
    skill,
    CAST(20 * (2 * step - 1) // (2 * total) AS INTEGER) AS bin,
    bin / 20 AS from_share,
    (bin + 1) / 20 AS to_share,
    count(*) AS steps,
    count(DISTINCT run) AS runs
FROM touched
GROUP BY skill, bin
ORDER BY skill, bin;
