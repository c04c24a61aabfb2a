-- question: Which skills were invoked, and how?
-- section: RQ3
-- grain: one row is one skill known to at least one readable run of the condition
-- columns: condition, skill, bundled, known, invoked, unknown, invocation_rate, by_skill_tool, by_slash,
--   by_read_tool, by_shell, by_python, by_injected, by_reinjected
-- first: skill, known, invoked, invocation_rate, unknown, condition
-- arms: condition
-- read: A skill whose description does not attract the agent is never invoked, however often it is offered. A
--   log that does not list its offers shows only the skills that were touched: not listed does not mean not
--   offered.
-- column bundled: part of the agent program itself
-- column known: readable runs that were offered it, by their log or variant, or touched it
-- column invoked: of these, runs in which an agent (main or sub-agent) activated it successfully or read
--   content of its SKILL.md; a path that is not in the variant does not count; null if unknown in all
-- column unknown: of these, runs in which only a tool that skilljuror does not know may have opened it
-- column invocation_rate: invoked / (known - unknown); null if no run is known to have been offered it, because the runs
--   that had it and ignored it are then unknown
-- column by_skill_tool: invoked runs whose first invocation was a call of a skill tool; the seven ways add up
--   to invoked
-- column by_slash: a slash command
-- column by_read_tool: a tool that reads files
-- column by_shell: a command
-- column by_python: Python code
-- column by_injected: put into the context without a call of the agent
-- column by_reinjected: put back into the context after a compaction
WITH logs AS (
    SELECT l.trajectory, r.run, r.condition, r.position
    FROM trajectories AS l
    JOIN arm_runs AS r ON r.usable AND r.run = coalesce(l.trial, l.trajectory)
),
known AS (
    SELECT
        run, condition, position, n.name AS skill,
        o.bundled, true AS offered, NULL AS way
    FROM logs JOIN offered AS o USING (trajectory) JOIN skill_names AS n USING (trajectory, skill)
    UNION ALL BY NAME
    SELECT
        l.run, l.condition, l.position, unnest(v.skills) AS skill,
        false AS bundled, true AS offered, NULL AS way
    FROM logs AS l
    JOIN trials AS t ON t.trial = l.run
    JOIN variants AS v ON v.build = t.task AND v.variant = t.variant
    UNION ALL BY NAME
    SELECT
        run, condition, position, n.name AS skill,
        e.bundled, false AS offered,
        CASE WHEN is_activation(e.kind, e.ok, e.phantom) OR (
            NOT e.phantom
            AND e.kind = 'read' AND e.resource_class = 'root' AND e.content_exposed <> 'none'
        ) THEN {'ordinal': e.ordinal, 'via': e.via} END AS way
    FROM logs JOIN events AS e USING (trajectory) JOIN skill_names AS n USING (trajectory, skill)
    WHERE e.counted
),
found AS (
    SELECT
        run, condition, position, skill,
        bool_and(bundled) AS bundled,
        bool_or(offered) AS offered,
        min(way).via AS via
    FROM known
    GROUP BY ALL
)
SELECT
    condition,
    skill,
    bool_and(bundled) AS bundled,
    count(*) AS known,
    if(count(u.run) = count(*), NULL, count(via)) AS invoked,
    count(u.run) AS unknown,
    if(bool_or(offered), count(via) / nullif(count(*) - count(u.run), 0), NULL) AS invocation_rate,
    count(*) FILTER (WHERE via = 'skill-tool') AS by_skill_tool,
    count(*) FILTER (WHERE via = 'slash') AS by_slash,
    count(*) FILTER (WHERE via = 'read-tool') AS by_read_tool,
    count(*) FILTER (WHERE via = 'shell') AS by_shell,
    count(*) FILTER (WHERE via = 'python') AS by_python,
    count(*) FILTER (WHERE via = 'injected') AS by_injected,
    count(*) FILTER (WHERE via = 'reinjected') AS by_reinjected
FROM found
LEFT JOIN (
    SELECT coalesce(l.trial, l.trajectory) AS run, s.skill
    FROM skill_runs AS s JOIN trajectories AS l USING (trajectory) WHERE s.opened IS NULL
) AS u USING (run, skill)
GROUP BY condition, position, skill
ORDER BY position, condition, skill;
