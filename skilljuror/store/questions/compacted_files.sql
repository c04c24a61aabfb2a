-- question: Which files of Skills did compactions take from the context, and which came back?
-- section: RQ3
-- grain: one row is one condition and file of a Skill that was in the context before a compaction
-- columns: condition, skill, resource, runs, held, stayed, lost, unknown, came_back, median_steps_back
-- arms: condition
-- params: skill=null
-- read: A file is in the context while any of its text that was shown to the main agent is. What the summary of a
--   compaction says of it does not count.
-- empty: No log has a compaction of the main agent after text of a Skill was shown. Some formats do not record
--   compactions.
-- column runs: trials or runs with such a compaction
-- column held: compactions that found text of the file in the context, or may have
-- column stayed: of these, compactions that kept some of it or showed it again
-- column lost: compactions that took all of it
-- column unknown: compactions whose log, or that of an earlier one, does not say what was kept
-- column came_back: of lost, compactions after which the agent was shown text of the file again
-- column median_steps_back: median steps from the compaction to the step that showed it again
WITH shown AS (
    SELECT r.condition, r.position, n.name, s.*
    FROM trajectories AS t
    JOIN arm_runs AS r ON r.usable AND r.run = coalesce(t.trial, t.trajectory)
    JOIN stays AS s ON s.trajectory = t.trajectory AND s.agent = 'main'
    JOIN skill_names AS n ON n.trajectory = s.trajectory AND n.skill = s.skill
    WHERE t.trajectory IN (SELECT trajectory FROM compactions)
        AND (CAST($skill AS VARCHAR) IS NULL OR CAST($skill AS VARCHAR) IN (n.name, regexp_extract(n.name, '[^:]*$')))
),
held AS (
    SELECT
        s.condition, s.position, s.trajectory, s.name, s.resource, c.position AS compaction, c.after_step,
        bool_or(s.compaction = c.position AND s.certain) AS known
    FROM shown AS s
    JOIN compactions AS c
        ON c.trajectory = s.trajectory AND c.agent = s.agent AND list_contains(c.had, s.ordinal)
    GROUP BY ALL
),
fates AS (
    SELECT
        h.*,
        EXISTS (
            SELECT 1 FROM shown AS b
            WHERE b.trajectory = h.trajectory AND b.name = h.name AND b.resource = h.resource
                AND b.step <= h.after_step AND (b.compaction IS NULL OR b.compaction > h.compaction)
        ) AS stayed,
        (
            SELECT min(b.step) - h.after_step FROM shown AS b
            WHERE b.trajectory = h.trajectory AND b.name = h.name AND b.resource = h.resource
                AND b.step > h.after_step
        ) AS steps_back
    FROM held AS h
)
SELECT
    condition, name AS skill, resource,
    count(DISTINCT trajectory) AS runs,
    count(*) AS held,
    count(*) FILTER (WHERE stayed) AS stayed,
    count(*) FILTER (WHERE known AND NOT stayed) AS lost,
    count(*) FILTER (WHERE NOT coalesce(known, false) AND NOT stayed) AS unknown,
    count(steps_back) FILTER (WHERE known AND NOT stayed) AS came_back,
    median(steps_back) FILTER (WHERE known AND NOT stayed) AS median_steps_back
FROM fates
GROUP BY condition, position, name, resource
ORDER BY position, lost DESC, held DESC, skill, resource;
