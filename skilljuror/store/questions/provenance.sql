-- question: Which agent, model and harness ran?
-- section: overview
-- grain: one row is one combination of agent, model and harness
-- columns: agent, agent_version, model, answered_by, effort, disclosed, harness, isolation, scripted, conditions,
--   trials, first_started, last_finished
-- read: Conditions may differ only in the Skill. A version, a model or a harness that is in some conditions
--   only is another difference and may be the cause of the result.
-- empty: No planned trials. `skilljuror run` with a study file plans and runs them. For foreign logs,
--   `skilljuror query STUDY trajectories` shows agent and model of each run.
-- column model: planned model of the agent
-- column answered_by: model that answered the main agent, by the log; null if the log names none
-- column disclosed: true if the prompt named the offered Skills; null for a trial without a Skill
-- column isolation: how a trial was isolated from the machine and from other trials
-- column scripted: true for a scripted policy without a language model
SELECT
    t.agent, t.agent_version, t.model, l.model AS answered_by, t.effort, t.disclosed IS NOT NULL AS disclosed,
    t.harness, t.isolation, t.scripted,
    string_agg(DISTINCT t.condition, ', ' ORDER BY t.condition) AS conditions,
    count(*) AS trials,
    min(t.started_at) AS first_started,
    max(t.finished_at) AS last_finished
FROM trials AS t
LEFT JOIN trajectories AS l ON l.trial = t.trial
GROUP BY
    t.agent, t.agent_version, t.model, l.model, t.effort, t.disclosed IS NOT NULL, t.harness, t.isolation,
    t.scripted
ORDER BY
    trials DESC, t.agent, t.agent_version, t.model, l.model, t.effort, disclosed, t.harness, t.isolation;
