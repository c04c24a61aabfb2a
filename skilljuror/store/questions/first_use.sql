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
WITH ordered AS (
    SELECT
        *,
        row_number() OVER (PARTITION BY run, skill ORDER BY trajectory, ordinal) AS place
    FROM uses
),
labels AS (
    SELECT event, bool_or(label = 'yes') AS yes FROM verdicts GROUP BY event
),
sums AS (
    SELECT
        u.skill, u.run,
        count(*) AS uses,
        count(DISTINCT u.resource) FILTER (WHERE u.opens) AS resources,
        if(count(l.event) = 0, NULL, count(*) FILTER (WHERE l.yes)) AS yes,
        count(DISTINCT u.step) FILTER (WHERE u.agent = 'main' AND u.step > 0) AS main_steps
    FROM uses AS u
    LEFT JOIN labels AS l ON l.event = u.event
    GROUP BY u.skill, u.run
)
SELECT
    s.skill, s.run, r.condition,
    o.agent,
    o.step AS first_step,
    if(o.agent = 'main' AND o.step BETWEEN 1 AND t.steps, (2 * o.step - 1) / (2 * t.steps), NULL)
        AS first_share,
    o.kind, o.via, s.uses, s.resources, s.yes,
    s.main_steps - if(o.agent = 'main' AND o.step > 0, 1, 0) AS returned
FROM sums AS s
JOIN ordered AS o ON o.run = s.run AND o.skill = s.skill AND o.place = 1
JOIN trajectories AS t ON t.trajectory = o.trajectory
JOIN runs AS r ON r.run = s.run
ORDER BY s.skill, s.run;
