-- question: Were runs with the whole Skill shown the section that an arm leaves out, and did they use it?
-- section: RQ2
-- grain: one row is one arm without a section, and one task
-- columns: condition, whole, whole_reason, task, units, runs, shown, unplaced, used_low
-- arms: condition, whole
-- read: The section is what the baseline says and the arm does not. An arm without a section says something
--   irrelevant of the same length.
-- empty: No arm leaves out a section. `skilljuror init --sections` writes a study file with one arm for each.
-- null used_low: these uses are not judged yet; run `skilljuror judge STUDY`
-- column whole: the arm with the whole Skill and the same disclosure, agent, options, model and effort
-- column whole_reason: why there is none
-- column units: knowledge units of the section
-- column runs: runs of the task in that arm whose log could be read
-- column shown: of these, runs that were shown any unit of the section
-- column unplaced: of the others, runs that were shown a part of a Skill at unknown lines
-- column used_low: runs in which a line of the section proves a use; null unless every use of the task's runs in
--   that arm is judged
WITH arms AS (
    SELECT
        a.condition, a.variant, a.position, p.other AS whole,
        if(p.condition IS NULL, 'no condition offers baseline', p.reason) AS whole_reason
    FROM conditions AS a
    LEFT JOIN skill_pairs AS p ON p.condition = a.condition AND p.variant = 'baseline'
    WHERE starts_with(a.variant, 'without-')
),
planned AS (SELECT DISTINCT condition, task FROM planned_trials),
sections AS (
    SELECT a.condition, a.position, a.whole, a.whole_reason, p.build AS task, p.unit
    FROM arms AS a
    JOIN planned AS n ON n.condition = a.condition
    JOIN unit_places AS p ON p.variant = 'baseline' AND p.build = n.task
    JOIN units AS u ON u.build = p.build AND u.unit = p.unit
        AND is_content(u.kind)
    WHERE EXISTS (SELECT 1 FROM unit_places AS o WHERE o.build = p.build AND o.variant = a.variant)
        AND NOT EXISTS (
            SELECT 1 FROM unit_places AS o
            WHERE o.build = p.build AND o.variant = a.variant AND o.unit = p.unit
        )
),
sizes AS (
    SELECT condition, position, whole, whole_reason, task, count(*) AS units FROM sections GROUP BY ALL
),
of_whole AS (
    SELECT r.condition, r.task, r.run, t.trajectory
    FROM arm_runs AS r
    JOIN trajectories AS t ON r.usable AND t.trial = r.run
    WHERE t.units IS NOT NULL AND r.condition IN (SELECT whole FROM arms)
),
judged AS (
    SELECT
        o.condition, o.task,
        bool_and(coalesce(u.events = u.judged, true)) AND tracing_judge() IS NOT NULL AS every
    FROM of_whole AS o
    LEFT JOIN judged_runs AS u ON u.run = o.run AND u.judge = tracing_judge()
    GROUP BY o.condition, o.task
)
SELECT
    s.condition, s.whole, s.whole_reason, s.task, s.units,
    count(o.run) AS runs,
    count(o.run) FILTER (WHERE EXISTS (
        SELECT 1 FROM sections AS u JOIN exposure AS e ON e.unit = u.unit AND e.trajectory = o.trajectory
        WHERE u.condition = s.condition AND u.task = s.task
    )) AS shown,
    count(o.run) FILTER (WHERE is_unplaced(o.trajectory) AND NOT EXISTS (
        SELECT 1 FROM sections AS u JOIN exposure AS e ON e.unit = u.unit AND e.trajectory = o.trajectory
        WHERE u.condition = s.condition AND u.task = s.task
    )) AS unplaced,
    if(any_value(j.every), count(o.run) FILTER (WHERE EXISTS (
        SELECT 1 FROM sections AS u JOIN unit_uses AS e ON e.unit = u.unit AND e.trial = o.run
        WHERE u.condition = s.condition AND u.task = s.task
    )), NULL) AS used_low
FROM sizes AS s
LEFT JOIN of_whole AS o ON o.condition = s.whole AND o.task = s.task
LEFT JOIN judged AS j ON j.condition = s.whole AND j.task = s.task
GROUP BY s.condition, s.position, s.whole, s.whole_reason, s.task, s.units
ORDER BY s.position, s.task;
