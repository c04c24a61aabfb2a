-- question: Which skills did agents really open?
-- section: RQ3
-- grain: one row is one skill
-- columns: skill, bundled, trajectories, offered, activated, read, opened, resources, uses,
--   scripts_run, failed
-- read: Being offered is not being opened. A skill with many offers and few openings has a
--   description that does not bring agents to it, or is not needed.
-- column bundled: belongs to the agent program itself
-- column trajectories: runs that were offered it or touched it
-- column offered: runs whose log lists it; a log that lists nothing adds no offer
-- column activated: runs whose log says that the harness put its SKILL.md into the context
-- column read: runs in which content of its SKILL.md was read
-- column opened: runs in which any of its resources was activated, read, searched, run or imported
-- column resources: distinct resources opened, over all runs
-- column uses: resource events without authoring and mentions
-- column scripts_run: runs of its scripts, as events; a path that it does not have is none
-- column failed: uses that failed
WITH offers AS (
    SELECT
        regexp_extract(skill, '[^:]*$') AS skill,
        trajectory,
        bool_or(bundled) AS bundled
    FROM offered
    GROUP BY ALL
),
touches AS (
    SELECT
        regexp_extract(skill, '[^:]*$') AS skill,
        trajectory,
        bool_or(bundled) AS bundled,
        bool_or(is_activation(kind, ok, phantom)) AS activated,
        bool_or(kind = 'read' AND resource_class = 'root' AND content_exposed <> 'none') AS read,
        bool_or(opens) AS opened,
        list(DISTINCT resource) FILTER (WHERE opens) AS resources,
        count(*) FILTER (WHERE counted) AS uses,
        count(*) FILTER (WHERE kind = 'exec' AND NOT phantom) AS scripts_run,
        count(*) FILTER (WHERE counted AND ok = false) AS failed
    FROM (
        SELECT
            *,
            kind IN ('activate', 'read', 'search', 'exec', 'import')
                AND ok IS NOT false AND NOT phantom AS opens
        FROM events
        WHERE counted
    )
    GROUP BY ALL
)
SELECT
    skill,
    bool_or(coalesce(t.bundled, o.bundled)) AS bundled,
    count(*) AS trajectories,
    count(o.trajectory) AS offered,
    count(*) FILTER (WHERE t.activated) AS activated,
    count(*) FILTER (WHERE t.read) AS read,
    count(*) FILTER (WHERE t.opened) AS opened,
    -- a skill that nobody opened has no list: zero
    coalesce(len(list_distinct(flatten(list(t.resources)))), 0) AS resources,
    CAST(coalesce(sum(t.uses), 0) AS BIGINT) AS uses,  -- a run without a row has no event: zero
    CAST(coalesce(sum(t.scripts_run), 0) AS BIGINT) AS scripts_run,  -- likewise
    CAST(coalesce(sum(t.failed), 0) AS BIGINT) AS failed  -- likewise
FROM touches AS t
FULL JOIN offers AS o USING (skill, trajectory)
GROUP BY skill
ORDER BY opened DESC, offered DESC, skill;
