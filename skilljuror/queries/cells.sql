-- question: What was planned for each task and condition?
-- section: lists
-- grain: one row is one task and condition
-- columns: task, condition, variant, substrate_digest, tree_digest, agent, model, effort, trials
-- read: Two studies can be compared where these are the same, but for what the comparison is about.
-- empty: The database has no planned study, only foreign logs.
-- column substrate_digest: instruction, environment, verifier and settings of the task; null if unknown, as for adopted
--   trials
-- column tree_digest: all files of the offered variant, as built; null for no Skill and without a build
-- column agent: planned agent
-- column model: planned model of the agent; null for an agent without one
-- column trials: planned trials
SELECT
    p.task,
    p.condition,
    c.variant,
    if(trim(k.substrate_digest, '-') = '', NULL, k.substrate_digest) AS substrate_digest,
    v.tree_digest,
    c.agent,
    c.model,
    c.effort,
    count(*) AS trials
FROM planned_trials AS p
JOIN conditions AS c ON c.condition = p.condition
JOIN tasks AS k ON k.task = p.task
LEFT JOIN variants AS v ON v.build = p.task AND v.variant = c.variant
GROUP BY ALL
ORDER BY min(k.position), min(c.position), p.task, p.condition;
