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
WITH sums AS (
    SELECT
        u.skill, u.run, u.trajectory,
        arg_min({'agent': u.agent, 'step': u.step, 'kind': u.kind, 'via': u.via}, u.ordinal) AS o,
        count(*) AS uses,
        count(DISTINCT u.resource) FILTER (WHERE u.opens) AS resources,
        count(y.event) AS yes,
        count(DISTINCT u.step) FILTER (WHERE u.agent = 'main' AND u.step > 0) AS main_steps
    FROM uses AS u
    LEFT JOIN (SELECT DISTINCT event FROM verdicts WHERE label = 'yes') AS y ON y.event = u.event
    GROUP BY u.skill, u.run, u.trajectory
),
judged AS (SELECT DISTINCT run, skill FROM judged_uses)
SELECT
    s.skill, s.run, r.condition,
    s.o.agent,
    s.o.step AS first_step,
    if(s.o.agent = 'main' AND s.o.step BETWEEN 1 AND t.steps, (2 * s.o.step - 1) / (2 * t.steps), NULL)
        AS first_share,
    s.o.kind, s.o.via, s.uses, s.resources, if(j.run IS NULL, NULL, s.yes) AS yes,
    s.main_steps - if(s.o.agent = 'main' AND s.o.step > 0, 1, 0) AS returned
FROM sums AS s
LEFT JOIN judged AS j ON j.run = s.run AND j.skill = s.skill
JOIN trajectories AS t ON t.trajectory = s.trajectory
JOIN runs AS r ON r.run = s.run
ORDER BY s.skill, s.run;
