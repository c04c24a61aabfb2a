-- question: When and how did each run first use each skill?
-- section: RQ3
-- grain: one row is one skill used in one run
-- columns: skill, run, condition, agent, first_step, first_share, kind, via, uses, resources, yes,
--   returned
-- column agent: agent with the first use: "main" or a sub-agent's id
-- column first_step: step of that agent; 0 is before the first
-- column first_share: midpoint of that step in the main agent's run, 0 to 1; null for step 0 and for
--   sub-agents
-- column yes: uses that a judge labelled yes; null if not judged
-- column returned: later steps of the main agent with a use of the skill; all of them if the first use came
--   before the first step or from a sub-agent
WITH judges AS MATERIALIZED (SELECT DISTINCT judge FROM verdicts),
sums AS (
    SELECT
        trajectory, run, skill, count(*) AS uses,
        arg_min({'agent': agent, 'step': step, 'kind': kind, 'via': via}, ordinal) AS o
    FROM uses GROUP BY ALL
),
opened AS (
    SELECT trajectory, skill, count(*) AS resources
    FROM (SELECT DISTINCT trajectory, skill, resource FROM uses WHERE opens) GROUP BY ALL
),
steps AS (
    SELECT trajectory, skill, count(*) AS steps
    FROM (SELECT DISTINCT trajectory, skill, step FROM uses WHERE agent = 'main' AND step > 0) GROUP BY ALL
),
judged AS (  -- a use that several judges call yes is one
    SELECT run, skill, sum(yes) AS yes FROM (
        SELECT run, skill, coalesce(sum(events) FILTER (label = 'yes' AND (SELECT count(*) = 1 FROM judges)), 0) AS yes
        FROM judged_uses GROUP BY ALL
        UNION ALL
        SELECT u.run, u.skill, count(*) FROM uses AS u
        JOIN (SELECT DISTINCT event FROM verdicts WHERE label = 'yes' AND (SELECT count(*) > 1 FROM judges)) USING (event)
        GROUP BY ALL
    ) GROUP BY ALL
)
SELECT
    s.skill, s.run, r.condition,
    s.o.agent,
    s.o.step AS first_step,
    if(s.o.agent = 'main' AND s.o.step BETWEEN 1 AND t.steps, (2 * s.o.step - 1) / (2 * t.steps), NULL)
        AS first_share,
    s.o.kind, s.o.via, s.uses, coalesce(o.resources, 0) AS resources, CAST(j.yes AS BIGINT) AS yes,
    coalesce(m.steps, 0) - if(s.o.agent = 'main' AND s.o.step > 0, 1, 0) AS returned
FROM sums AS s
LEFT JOIN opened AS o ON o.trajectory = s.trajectory AND o.skill = s.skill
LEFT JOIN steps AS m ON m.trajectory = s.trajectory AND m.skill = s.skill
LEFT JOIN judged AS j ON j.run = s.run AND j.skill = s.skill
JOIN trajectories AS t ON t.trajectory = s.trajectory
JOIN runs AS r ON r.run = s.run
ORDER BY s.skill, s.run;
