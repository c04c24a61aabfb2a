-- question: Which trials are contaminated or unusual?
-- section: RQ2
-- grain: one row is one flag of one trial
-- columns: flag, kind, trial, task, condition, detail
-- read: A contaminated trial is invalid for its arm: run it again. All other flags are behaviour or
--   circumstance; these trials stay in the headline.
-- empty: No planned trial is contaminated or unusual. Foreign logs have no planned trials; `skilljuror query
--   STUDY source_counts` counts unreadable files.
-- column kind: contamination, circumstance or behaviour
-- column detail: evidence for the flag
WITH about AS MATERIALIZED (
    SELECT r.run AS trial, r.task, r.condition, coalesce(r.reason, r.status) AS status, r.readable, r.exception, c.variant
    FROM runs AS r
    JOIN conditions AS c ON c.condition = r.condition
),
flags AS (
    SELECT x.flag, 'contamination' AS kind, a.*, x.detail
    FROM about AS a JOIN contaminations AS x ON x.trial = a.trial
    UNION ALL BY NAME
    SELECT 'unfinished' AS flag, 'circumstance' AS kind, a.*, a.status AS detail
    FROM about AS a WHERE a.status IN ('missing', 'unscored', 'error', 'no_answer', 'no_log')
    UNION ALL BY NAME
    SELECT 'exception' AS flag, 'circumstance' AS kind, a.*, a.exception AS detail
    FROM about AS a WHERE a.exception IS NOT NULL
    UNION ALL BY NAME
    SELECT 'no_readable_log' AS flag, 'circumstance' AS kind, a.*, a.status AS detail
    FROM about AS a WHERE NOT a.readable AND a.status <> 'missing'
    UNION ALL BY NAME
    SELECT 'log_cut_off' AS flag, 'circumstance' AS kind, a.*, l.steps || ' steps' AS detail
    FROM about AS a JOIN trajectories AS l ON l.trial = a.trial WHERE NOT l.complete
    UNION ALL BY NAME
    SELECT
        'not_all_read' AS flag, 'circumstance' AS kind, a.*,
        array_to_string(t.left_out, '; ') AS detail
    FROM about AS a JOIN trials AS t ON t.trial = a.trial WHERE len(t.left_out) > 0
    UNION ALL BY NAME
    SELECT
        'several_models' AS flag, 'circumstance' AS kind, a.*,
        l.plain_model || ', ' || array_to_string(l.other_models, ', ') AS detail
    FROM about AS a JOIN trajectories AS l ON l.trial = a.trial WHERE len(l.other_models) > 0
    UNION ALL BY NAME
    SELECT 'agent_untried' AS flag, 'circumstance' AS kind, a.*, t.agent_untried AS detail
    FROM about AS a JOIN trials AS t ON t.trial = a.trial WHERE t.agent_untried IS NOT NULL
    UNION ALL BY NAME
    SELECT 'no_steps' AS flag, 'circumstance' AS kind, a.*, 'the log holds no step' AS detail
    FROM about AS a JOIN trajectories AS l ON l.trial = a.trial WHERE l.steps + l.sub_steps = 0
    UNION ALL BY NAME
    SELECT 'skill_list_cut' AS flag, 'circumstance' AS kind, a.*, w.warning AS detail
    FROM about AS a
    JOIN (SELECT trial, unnest(warnings) AS warning FROM trajectories) AS w ON w.trial = a.trial
    WHERE contains(w.warning, 'the list of Skills exceeded its budget')
    UNION ALL BY NAME
    SELECT 'session_rewound' AS flag, 'circumstance' AS kind, a.*, w.warning AS detail
    FROM about AS a
    JOIN (SELECT trial, unnest(warnings) AS warning FROM trajectories) AS w ON w.trial = a.trial
    WHERE contains(w.warning, 'the session was rewound')
    UNION ALL BY NAME
    SELECT 'skill_unread' AS flag, 'behaviour' AS kind, a.*, 'no resource was opened' AS detail
    FROM about AS a
    WHERE a.readable AND a.variant IS NOT NULL
        AND a.trial NOT IN (SELECT DISTINCT run FROM uses WHERE opens)
        AND NOT EXISTS (FROM unknown_tools AS u WHERE u.trajectory = a.trial AND len(u.skills) > 0)
    UNION ALL BY NAME
    SELECT
        'unknown_tool' AS flag, 'circumstance' AS kind, a.*,
        u.tool || ' may have opened ' || array_to_string(u.skills, ', ') AS detail
    FROM about AS a JOIN trajectories AS l ON l.trial = a.trial
    JOIN unknown_tools AS u ON u.trajectory = l.trajectory WHERE len(u.skills) > 0
    UNION ALL BY NAME
    SELECT 'activation_failed' AS flag, 'behaviour' AS kind, a.*, count(*) || ' times' AS detail
    FROM about AS a JOIN uses AS u ON u.run = a.trial
    WHERE u.kind = 'activate' AND u.ok = false
    GROUP BY ALL
    UNION ALL BY NAME
    SELECT 'wrong_paths' AS flag, 'behaviour' AS kind, a.*, count(*) || ' uses' AS detail
    FROM about AS a JOIN uses AS u ON u.run = a.trial
    WHERE u.phantom AND NOT (
        u.ok IS DISTINCT FROM false
        AND EXISTS (SELECT 1 FROM announced_files AS f WHERE f.trial = a.trial AND f.path = u.skill || '/' || u.resource)
    )
    GROUP BY ALL
    UNION ALL BY NAME
    SELECT
        'skill_edited' AS flag, 'behaviour' AS kind, a.*,
        concat_ws(
            ', ',
            if(e.edits > 0, e.edits || ' events', NULL),
            if(t.variant_digest_after <> t.variant_digest, 'its files are not those of before', NULL)
        ) AS detail
    FROM about AS a
    LEFT JOIN trials AS t ON t.trial = a.trial
    LEFT JOIN (
        SELECT l.trial, count(*) AS edits
        FROM trajectories AS l JOIN events AS e ON e.trajectory = l.trajectory
        JOIN skill_names AS n ON n.trajectory = e.trajectory AND n.skill = e.skill
        WHERE e.kind IN ('edit', 'write') AND NOT e.bundled AND NOT EXISTS (
            SELECT 1 FROM announced_files AS f
            WHERE f.trial = l.trial AND f.path = n.name || '/' || e.resource
        )
        GROUP BY l.trial
    ) AS e ON e.trial = a.trial
    WHERE e.edits > 0 OR t.variant_digest_after <> t.variant_digest
)
SELECT flag, kind, trial, task, condition, detail
FROM flags
ORDER BY kind DESC, flag, trial, detail;
