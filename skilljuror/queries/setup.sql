-- question: How is the study set up, and what may differ between conditions?
-- section: overview
-- grain: one row is the study
-- columns: study, harness, agent, model, effort, disclosure, vary, tasks, conditions,
--   trials_per_cell, planned, treatment, control, primary_outcome, margin
-- read: Everything except `vary` is the same in all conditions; a study file whose conditions differ in more
--   is invalid.
-- empty: The database has no planned study, only foreign logs.
-- column agent: agent, or those of all conditions; so model and effort
-- column effort: requested reasoning effort of the agent
-- column disclosure: silent: the prompt is the instruction only; named: it ends with the names of the Skills
-- column planned: tasks x conditions x trials per cell
-- column margin: declared equivalence margin in the primary outcome, percentage points
SELECT
    s.study, s.harness,
    coalesce((SELECT string_agg(DISTINCT agent, ', ' ORDER BY agent) FROM conditions), s.agent) AS agent,
    coalesce((SELECT string_agg(DISTINCT model, ', ' ORDER BY model) FROM conditions), s.model) AS model,
    coalesce((SELECT string_agg(DISTINCT effort, ', ' ORDER BY effort) FROM conditions), s.effort) AS effort,
    s.disclosure,
    array_to_string(s.vary, ', ') AS vary,
    (SELECT count(*) FROM tasks) AS tasks,
    (SELECT string_agg(condition, ', ' ORDER BY position) FROM conditions) AS conditions,
    s.trials_per_cell,
    (SELECT count(*) FROM planned_trials) AS planned,
    s.treatment, s.control, s.primary_outcome, s.margin
FROM study AS s;
