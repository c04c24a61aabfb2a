-- question: What was planned for each task and condition, and how often did it pass?
-- section: lists
-- grain: one row is one task and condition
-- columns: task, condition, variant, substrate_digest, tree_digest, agent, model, answered_by, effort, trials,
--   usable, strict_rate
-- arms: condition
-- whole: strict_rate
-- read: Two studies can be compared where these are the same, but for what the comparison is about. A task with
--   few trials has a rate and no error bar.
-- empty: The database has no planned study, only foreign logs.
-- column substrate_digest: instruction, environment, verifier and settings of the task; null if unknown, as for adopted
--   trials
-- column tree_digest: all files of the offered variant, as built; null for no Skill and without a build
-- column agent: planned agent
-- column model: planned model of the agent; null for an agent without one
-- column answered_by: models that answered the main agent in the condition, by the logs; null if they name none
-- column trials: planned trials
-- column usable: of these, trials that figures may use
-- column strict_rate: strict passes / planned trials; null without a verifier
SELECT
    p.task,
    p.condition,
    c.variant,
    if(trim(k.substrate_digest, '-') = '', NULL, k.substrate_digest) AS substrate_digest,
    v.tree_digest,
    c.agent,
    c.model,
    a.answered_by,
    c.effort,
    count(*) AS trials,
    count(*) FILTER (WHERE r.usable) AS usable,
    avg(CAST(r.strict AS INTEGER)) AS strict_rate
FROM planned_trials AS p
JOIN arm_runs AS r ON r.run = p.trial
JOIN conditions AS c ON c.condition = p.condition
JOIN tasks AS k ON k.task = p.task
LEFT JOIN (
    SELECT condition, string_agg(DISTINCT model, ', ' ORDER BY model) AS answered_by
    FROM answering_models GROUP BY condition
) AS a ON a.condition = p.condition
LEFT JOIN variants AS v ON v.build = p.task AND v.variant = c.variant
GROUP BY ALL
ORDER BY min(k.position), min(c.position), p.task, p.condition;
