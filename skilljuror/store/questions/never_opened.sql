-- question: What was offered and never opened?
-- section: RQ3
-- grain: one row is one offered resource that no readable run opened
-- columns: condition, task, skill, resource, resource_class, runs, unknown
-- first: skill, resource, runs, unknown, resource_class, task, condition
-- place: 3
-- arms: condition
-- read: A support file that nobody opens is knowledge hidden by the layout; in a flat layout the same text
--   would have been read with the root.
-- column resource: path inside the skill; null for a whole skill of which only the offer is known
-- column runs: readable runs that were offered it
-- column unknown: of these, runs in which a tool that skilljuror does not know may have opened a file of the skill
WITH opened AS (
    SELECT DISTINCT r.condition, r.task, u.skill, u.resource
    FROM uses AS u JOIN arm_runs AS r ON r.usable AND r.run = u.run
    WHERE u.opens
),
planned AS (
    SELECT
        r.condition, r.position, r.task,
        split_part(f.path, '/', 1) AS skill,
        regexp_replace(f.path, '^[^/]*/', '') AS resource,
        f.resource_class,
        count(*) AS runs,
        count(u.run) AS unknown
    FROM arm_runs AS r
    JOIN trials AS c ON c.trial = r.run
    JOIN variant_files AS f ON f.build = r.task AND f.variant = c.variant
    LEFT JOIN unknown_opens AS u ON u.run = r.run AND u.skill = split_part(f.path, '/', 1)
    WHERE r.readable
    GROUP BY ALL
),
observed AS (
    SELECT
        r.condition, r.position, r.task,
        n.name AS skill,
        NULL AS resource,
        NULL AS resource_class,
        count(DISTINCT r.run) AS runs,
        count(DISTINCT u.run) AS unknown
    FROM arm_runs AS r
    JOIN offered AS o ON o.trajectory = r.run
    JOIN skill_names AS n ON n.trajectory = o.trajectory AND n.skill = o.skill
    LEFT JOIN unknown_opens AS u ON u.run = r.run AND u.skill = n.name
    WHERE r.status = 'observed' AND NOT o.bundled
    GROUP BY ALL
)
SELECT condition, task, skill, resource, resource_class, runs, unknown
FROM (FROM planned UNION ALL BY NAME FROM observed) AS offers
WHERE NOT EXISTS (
    SELECT 1 FROM opened AS o
    WHERE o.condition = offers.condition
        AND o.task IS NOT DISTINCT FROM offers.task
        AND o.skill = offers.skill
        AND (offers.resource IS NULL OR o.resource = offers.resource)
)
ORDER BY runs DESC, task, position, skill, resource;
