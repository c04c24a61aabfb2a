-- Views that put the planned frame and foreign logs side by side.

-- One row per planned trial, or per foreign run (condition "observed"): the frame of every rate.
CREATE VIEW runs AS
SELECT
    p.trial AS run,  -- Name of the trial, or key of the foreign run.
    p.task AS task,  -- Name of the task; null for a foreign run that no trial of a harness holds.
    p.condition AS condition,  -- Name of the condition; "observed" for a foreign run.
    c.position AS position,  -- Place of the condition in the study file.
    coalesce(t.status, 'missing') AS status,  -- scored, timeout, unscored, error, missing or observed.
    t.reward AS reward,  -- Reward of the verifier; null when there is none.
    t.exception AS exception,  -- Class of the agent's end when it was not clean.
    coalesce(t.reward IS NOT NULL OR t.status = 'timeout', false) AS settled,  -- Whether the outcome is final: a reward, or the time ran out.
    r.trial IS NOT NULL AS readable  -- Whether a log of it could be read.
FROM planned_trials AS p
JOIN conditions AS c ON c.condition = p.condition
LEFT JOIN trials AS t ON t.trial = p.trial
LEFT JOIN (SELECT DISTINCT trial FROM trajectories) AS r ON r.trial = p.trial
UNION ALL BY NAME
SELECT
    trajectory AS run, task, 'observed' AS condition, 0 AS position, 'observed' AS status,
    reward, exception, reward IS NOT NULL AS settled, true AS readable
FROM trajectories
WHERE trial IS NULL;

-- One row per use of a Skill resource: events without authoring and mentions, and without the agent's own skills.
CREATE VIEW uses AS
SELECT
    e.event AS event,  -- Id of the event.
    coalesce(t.trial, t.trajectory) AS run,  -- Name of the trial, or key of the foreign run.
    e.trajectory AS trajectory,  -- Key of the trajectory.
    e.ordinal AS ordinal,  -- 0-based number inside the trajectory.
    e.agent AS agent,  -- "main" or the sub-agent's id.
    e.step AS step,  -- 1-based step of that agent; 0 before the first.
    regexp_extract(e.skill, '[^:]*$') AS skill,  -- Skill, without the name of a plugin.
    e.resource AS resource,  -- Canonical path inside the skill; "." for a bare listing.
    e.resource_class AS resource_class,  -- root, support, code or data.
    e.kind AS kind,  -- activate, read, list, search, exec or import.
    e.via AS via,  -- How.
    e.ok AS ok,  -- Whether it worked; null when nothing says so.
    e.content_exposed AS content_exposed,  -- full, partial or none.
    e.phantom AS phantom,  -- True for a path that the bundle does not have.
    e.kind IN ('activate', 'read', 'search', 'exec', 'import') AND NOT e.phantom AS opens  -- Whether it opens a resource (a listing does not).
FROM events AS e
JOIN trajectories AS t ON t.trajectory = e.trajectory
WHERE e.counted AND NOT e.bundled;

-- One row per reason why a trial does not belong to its arm: it is invalid for the design and should be run again.
CREATE VIEW contaminations AS
SELECT
    r.run AS trial,  -- Name of the trial.
    'skill_in_no_skill_arm' AS flag,  -- What is wrong with it.
    count(*) || ' uses of ' || string_agg(DISTINCT u.skill, ', ' ORDER BY u.skill) AS detail  -- What the flag rests on.
FROM runs AS r
JOIN conditions AS c ON c.condition = r.condition AND c.variant IS NULL
JOIN uses AS u ON u.run = r.run AND u.content_exposed <> 'none'
GROUP BY r.run
UNION ALL
SELECT
    r.run, 'skill_offered_in_no_skill_arm',
    'the log lists ' || string_agg(DISTINCT o.skill, ', ' ORDER BY o.skill)
FROM runs AS r
JOIN conditions AS c ON c.condition = r.condition AND c.variant IS NULL
JOIN trajectories AS l ON l.trial = r.run
JOIN offered AS o ON o.trajectory = l.trajectory AND NOT o.bundled
WHERE EXISTS (
    SELECT 1 FROM variants AS v
    WHERE v.build = r.task AND list_contains(v.skills, regexp_extract(o.skill, '[^:]*$'))
)
GROUP BY r.run
UNION ALL
SELECT
    t.trial, 'other_variants_file',
    'saw ' || string_agg(DISTINCT f.path, ', ' ORDER BY f.path) || ', which its variant does not have'
FROM trials AS t
JOIN uses AS u ON u.run = t.trial AND u.phantom AND u.content_exposed <> 'none'
JOIN variant_files AS f
    ON f.build = t.task
    AND f.variant <> t.variant
    AND f.path = regexp_extract(u.skill, '[^:]*$') || '/' || u.resource
GROUP BY t.trial
UNION ALL
SELECT
    t.trial, 'other_variant',
    'planned ' || coalesce(c.variant, 'none') || ', ran ' || coalesce(t.variant, 'none')
FROM trials AS t
JOIN planned_trials AS p ON p.trial = t.trial
JOIN conditions AS c ON c.condition = p.condition
WHERE c.variant IS DISTINCT FROM t.variant
UNION ALL
SELECT t.trial, 'variant_changed', 'the offered files are not those that were built'
FROM trials AS t
JOIN variants AS v ON v.build = t.task AND v.variant = t.variant
WHERE t.variant_digest <> v.tree_digest
UNION ALL
SELECT t.trial, 'substrate_changed', 'instruction, environment or verifier is not as planned'
FROM trials AS t
JOIN tasks AS k ON k.task = t.task
WHERE t.substrate_digest <> k.substrate_digest
UNION ALL
SELECT t.trial, 'other_plan', 'it ran under another plan'
FROM trials AS t
JOIN study AS s ON s.config_digest <> t.config_digest
UNION ALL
SELECT l.trial, 'skill_not_offered', 'the log lists the skills on offer, and none of the variant is among them'
FROM trajectories AS l
JOIN trials AS t ON t.trial = l.trial
JOIN variants AS v ON v.build = t.task AND v.variant = t.variant
WHERE l.offered_known
    AND NOT EXISTS (
        SELECT 1 FROM offered AS o
        WHERE o.trajectory = l.trajectory
            AND list_contains(v.skills, regexp_extract(o.skill, '[^:]*$'))
    );
