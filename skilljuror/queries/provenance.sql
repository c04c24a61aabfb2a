-- question: What ran, and under what?
-- section: overview
-- grain: one row is one combination of agent, model and harness
-- columns: agent, agent_version, model, effort, disclosed, harness, isolation, scripted, conditions,
--   trials, first_started, last_finished
-- read: Conditions may differ in the Skill alone. A version, a model or a harness that stands in some
--   conditions only is another difference, and may be the cause of what is seen.
-- empty: No trial of a study is in this database: `skilljuror run` with a study file plans and runs
--   them. Of logs as they were found `skilljuror query STUDY trajectories` tells agent and model of
--   each run.
-- column disclosed: whether the prompt named the offered Skills; a trial without Skill has none to name
-- column isolation: how a trial was kept apart from the machine and from other trials
-- column scripted: whether a scripted policy ran and no language model
SELECT
    t.agent, t.agent_version, t.model, t.effort, t.disclosed IS NOT NULL AS disclosed, t.harness,
    t.isolation, t.scripted,
    string_agg(DISTINCT t.condition, ', ' ORDER BY t.condition) AS conditions,
    count(*) AS trials,
    min(t.started_at) AS first_started,
    max(t.finished_at) AS last_finished
FROM trials AS t
GROUP BY
    t.agent, t.agent_version, t.model, t.effort, t.disclosed IS NOT NULL, t.harness, t.isolation,
    t.scripted
ORDER BY
    trials DESC, t.agent, t.agent_version, t.model, t.effort, disclosed, t.harness, t.isolation;
