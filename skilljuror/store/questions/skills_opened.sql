-- question: Which skills did agents open?
-- section: RQ3
-- grain: one row is one skill
-- columns: skill, bundled, trajectories, offered, activated, read, opened, unknown, searched, resources, uses,
--   scripts_run, failed, last_used
-- first: skill, offered, opened, activated, read, uses, failed, resources
-- sums: uses, failed
-- read: Offered does not mean opened. A skill that is often offered and rarely opened has a description that
--   does not attract agents, or is not needed.
-- column bundled: part of the agent program itself
-- column trajectories: runs that were offered it or touched it
-- column offered: runs whose log lists it; null if no log has a list of Skills
-- column activated: runs in which the harness put its SKILL.md into the context, by the log
-- column read: runs that read content of its SKILL.md
-- column opened: runs that activated, read, ran or imported any of its resources; null if unknown in all
-- column unknown: other runs, in which a tool that skilljuror does not know may have opened it
-- column searched: other runs, in which only a search printed lines of it
-- column resources: distinct resources opened, over all runs
-- column uses: resource events except authoring and mentions
-- column scripts_run: runs of its scripts, as events; a path that is not in the skill does not count
-- column failed: uses that failed
-- column last_used: start of the latest run with a use; null for none, and if no log with one has a time
WITH offers AS (
    SELECT
        n.name AS skill,
        trajectory,
        bool_or(bundled) AS bundled
    FROM offered JOIN skill_names AS n USING (trajectory, skill)
    GROUP BY ALL
),
touches AS (
    SELECT
        name AS skill,
        trajectory,
        bool_or(bundled) AS bundled,
        bool_or(is_activation(kind, ok, phantom)) AS activated,
        bool_or(kind = 'read' AND resource_class = 'root' AND content_exposed <> 'none') AS read,
        bool_or(opens) AS opened,
        bool_or(searched) AS searched,
        list(DISTINCT resource) FILTER (WHERE opens) AS resources,
        count(*) FILTER (WHERE counted) AS uses,
        count(*) FILTER (WHERE kind = 'exec' AND NOT phantom) AS scripts_run,
        count(*) FILTER (WHERE counted AND ok = false) AS failed
    FROM (
        SELECT
            *,
            kind IN ('activate', 'read', 'exec', 'import')
                AND ok IS NOT false AND NOT phantom AS opens,
            kind = 'search' AND ok IS NOT false AND NOT phantom AS searched
        FROM events JOIN skill_names USING (trajectory, skill)
        WHERE counted
    )
    GROUP BY ALL
)
SELECT
    skill,
    bool_or(coalesce(t.bundled, o.bundled)) AS bundled,
    count(*) AS trajectories,
    if((SELECT bool_or(offered_known) FROM trajectories), count(o.trajectory), NULL) AS offered,
    count(*) FILTER (WHERE t.activated) AS activated,
    count(*) FILTER (WHERE t.read) AS read,
    if(bool_and(s.opened IS NULL), NULL, count(*) FILTER (WHERE t.opened)) AS opened,
    count(*) FILTER (WHERE s.opened IS NULL) AS unknown,
    count(*) FILTER (WHERE t.searched AND NOT t.opened) AS searched,
    -- a skill that nobody opened has no list: zero
    coalesce(len(list_distinct(flatten(list(t.resources)))), 0) AS resources,
    CAST(coalesce(sum(t.uses), 0) AS BIGINT) AS uses,  -- a run without a row has no event: zero
    CAST(coalesce(sum(t.scripts_run), 0) AS BIGINT) AS scripts_run,  -- likewise
    CAST(coalesce(sum(t.failed), 0) AS BIGINT) AS failed,  -- likewise
    max(l.started_at) FILTER (WHERE t.uses > 0) AS last_used
FROM touches AS t
FULL JOIN offers AS o USING (skill, trajectory)
LEFT JOIN trajectories AS l USING (trajectory)
LEFT JOIN skill_runs AS s USING (skill, trajectory)
GROUP BY skill
ORDER BY opened DESC, offered DESC, skill;
