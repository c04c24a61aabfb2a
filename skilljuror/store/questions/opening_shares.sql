-- question: In what share of the runs that opened a skill was each of its files opened?
-- section: RQ3
-- grain: one row is one opened file of a skill, by condition and variant
-- columns: skill, condition, variant, resource, resource_class, opened, runs, clusters, share
-- arms: condition
-- params: skill=null
-- read: The share is over runs that opened anything of the skill, so that it is the share of its text that a
--   run pays for. Runs of one cluster resemble each other: many runs of one cluster are little evidence.
-- empty: No run opened this skill, or the study is not ingested; `skilljuror query STUDY skills_opened` lists
--   the skills that runs opened.
-- column variant: null for foreign runs, whose logs do not name the text that they were offered
-- column opened: runs in which it was activated, read, run or imported; a listing or a search does not open it
-- column runs: readable runs of the condition that opened any file of the skill
-- column clusters: tasks of these runs; for own logs, folders of logs (a project or a day, by agent)
WITH opened AS (
    SELECT DISTINCT
        u.skill, r.condition, r.position, t.variant, u.resource, u.resource_class, u.run,
        coalesce(r.task, regexp_replace(l.source, '[/\\][^/\\]*$', '')) AS cluster
    FROM uses AS u
    JOIN arm_runs AS r ON r.usable AND r.run = u.run
    JOIN trajectories AS l ON l.trajectory = u.trajectory
    LEFT JOIN trials AS t ON t.trial = r.run
    WHERE u.opens AND u.ok IS NOT false AND r.readable
        AND (
            CAST($skill AS VARCHAR) IS NULL
            OR CAST($skill AS VARCHAR) IN (u.skill, regexp_extract(u.skill, '[^:]*$'))
        )
),
frame AS (
    SELECT
        skill, condition, variant,
        count(DISTINCT run) AS runs,
        count(DISTINCT cluster) AS clusters
    FROM opened GROUP BY ALL
)
SELECT
    o.skill, o.condition, o.variant, o.resource,
    min(o.resource_class) AS resource_class,
    count(DISTINCT o.run) AS opened,
    f.runs, f.clusters,
    count(DISTINCT o.run) / f.runs AS share
FROM opened AS o
JOIN frame AS f
    ON f.skill = o.skill AND f.condition = o.condition AND f.variant IS NOT DISTINCT FROM o.variant
GROUP BY o.skill, o.condition, o.position, o.variant, o.resource, f.runs, f.clusters
ORDER BY o.skill, o.position, o.variant, opened DESC, o.resource;
