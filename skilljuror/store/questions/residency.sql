-- question: How much of the Skill's text stays in the context, and what do compactions take from it?
-- section: RQ3
-- grain: one row is one condition, agent program and kind of item
-- columns: condition, agent, item, readable, compacted, compactions, showed, unknown, third_share,
--   two_thirds_share, resident_share, resident_share_reason, lost, came_back, median_steps_back
-- arms: condition
-- read: A compaction replaces the context of an agent by a summary. Text counts as resident if it was shown after the
--   agent's last compaction, or stayed or was shown again in that compaction; what the summary says of it does not
--   count. Only the main agent counts. Items are knowledge units, or files where there is no knowledge map.
-- empty: No log has a compaction of the main agent: what was shown stayed in the context, as far as logs tell. Some
--   formats do not record compactions.
-- column item: unit (of the knowledge map) or file (without one: any of its text)
-- column readable: trials or runs whose log could be read
-- column compacted: those with a compaction of the main agent
-- column compactions: compactions of the main agent
-- column showed: those in which the main agent was shown an item
-- column unknown: of these, those left out of the shares and losses, because the log does not say what a compaction kept
-- column third_share: mean over runs of items resident / items seen so far, after a third of the main agent's steps; runs
--   without an item by then are left out
-- column two_thirds_share: the same after two thirds
-- column resident_share: the same at the end
-- column lost: items that a compaction took from the context, as a sum over compactions
-- column came_back: of these, items that were shown again later
-- column median_steps_back: median steps from the compaction to the step that showed the item again
WITH logs AS (
    SELECT
        r.condition, r.position, t.trajectory, coalesce(t.agent, 'unknown') AS agent, t.steps,
        if(t.units > 0, 'unit', 'file') AS item
    FROM trajectories AS t
    JOIN arm_runs AS r ON r.usable AND r.run = coalesce(t.trial, t.trajectory)
    WHERE EXISTS (SELECT 1 FROM compactions WHERE agent = 'main')
),
shown AS (
    SELECT s.*, l.item, l.steps, if(l.item = 'unit', x.unit, n.name || '/' || s.resource) AS name
    FROM logs AS l
    JOIN stays AS s ON s.trajectory = l.trajectory AND s.agent = 'main'
    JOIN skill_names AS n ON n.trajectory = s.trajectory AND n.skill = s.skill
    LEFT JOIN exposure AS x ON x.trajectory = s.trajectory AND x.ordinal = s.ordinal AND l.item = 'unit'
    WHERE l.item = 'file' OR x.unit IS NOT NULL
),
points AS (SELECT unnest([1, 2, 3]) AS third),
at_points AS (
    SELECT
        trajectory, third, name,
        bool_or(compaction IS NULL OR until > ceil(steps * third / 3)) AS resident
    FROM shown, points
    WHERE step <= ceil(steps * third / 3)
    GROUP BY ALL
),
shares AS (
    SELECT trajectory, third, count(*) FILTER (WHERE resident) / count(*) AS share
    FROM at_points GROUP BY trajectory, third
),
taken AS (
    SELECT DISTINCT a.trajectory, a.name, a.compaction, a.until AS after_step
    FROM shown AS a
    WHERE a.compaction IS NOT NULL AND NOT EXISTS (
        SELECT 1 FROM shown AS b
        WHERE b.trajectory = a.trajectory AND b.name = a.name AND b.step <= a.until
            AND (b.compaction IS NULL OR b.compaction > a.compaction)
    )
),
returns AS (
    SELECT t.trajectory, t.name, t.compaction, min(b.step) - any_value(t.after_step) AS steps_back
    FROM taken AS t
    LEFT JOIN shown AS b ON b.trajectory = t.trajectory AND b.name = t.name AND b.step > t.after_step
    GROUP BY ALL
),
uncertain AS (SELECT trajectory FROM shown GROUP BY trajectory HAVING NOT bool_and(certain)),
by_run AS (
    SELECT
        l.*,
        (SELECT count(*) FROM compactions AS c WHERE c.trajectory = l.trajectory AND c.agent = 'main') AS compactions,
        l.trajectory IN (SELECT trajectory FROM shown) AS showed,
        l.trajectory IN (SELECT trajectory FROM uncertain) AS unknown
    FROM logs AS l
),
kept AS (
    SELECT
        trajectory,
        max(share) FILTER (WHERE third = 1) AS first, max(share) FILTER (WHERE third = 2) AS second,
        max(share) FILTER (WHERE third = 3) AS whole
    FROM shares GROUP BY trajectory
)
SELECT
    condition, agent, item,
    count(*) AS readable,
    count(*) FILTER (WHERE compactions > 0) AS compacted,
    CAST(sum(compactions) AS BIGINT) AS compactions,
    count(*) FILTER (WHERE showed) AS showed,
    count(*) FILTER (WHERE unknown) AS unknown,
    avg(k.first) FILTER (WHERE NOT unknown) AS third_share,
    avg(k.second) FILTER (WHERE NOT unknown) AS two_thirds_share,
    avg(k.whole) FILTER (WHERE NOT unknown) AS resident_share,
    CASE
        WHEN count(*) FILTER (WHERE showed) = 0 THEN 'nothing_shown'
        WHEN count(*) FILTER (WHERE showed AND NOT unknown) = 0 THEN 'kept_unknown'
    END AS resident_share_reason,
    CAST(sum(coalesce(b.lost, 0)) FILTER (WHERE showed AND NOT unknown) AS BIGINT) AS lost,  -- no row: nothing
    CAST(sum(coalesce(b.came_back, 0)) FILTER (WHERE showed AND NOT unknown) AS BIGINT) AS came_back,  -- likewise
    list_aggregate(flatten(list(b.steps_back) FILTER (WHERE NOT unknown)), 'median') AS median_steps_back
FROM by_run AS r
LEFT JOIN kept AS k USING (trajectory)
LEFT JOIN (
    SELECT
        trajectory, count(*) AS lost, count(steps_back) AS came_back,
        list(steps_back) FILTER (WHERE steps_back IS NOT NULL) AS steps_back
    FROM returns GROUP BY trajectory
) AS b USING (trajectory)
GROUP BY condition, position, agent, item
ORDER BY position, agent, item;
