-- question: What was set up, and what may differ between conditions?
-- section: overview
-- grain: one row is the study
-- columns: study, harness, agent, model, effort, disclosure, vary, tasks, conditions,
--   trials_per_cell, planned, treatment, control, primary_outcome, margin
-- read: Everything but what stands in vary is one and the same in all conditions; a study file whose
--   conditions differ in more is refused.
-- empty: No study was planned in this database: these are logs as they were found.
-- column effort: reasoning effort that was asked of the agent
-- column disclosure: silent: the prompt is the instruction alone; named: its end names the Skills
-- column planned: tasks times conditions times trials per cell
-- column margin: declared margin of equivalence in the primary outcome, percentage points
SELECT
    s.study, s.harness, s.agent, s.model, s.effort, s.disclosure,
    array_to_string(s.vary, ', ') AS vary,
    (SELECT count(*) FROM tasks) AS tasks,
    (SELECT string_agg(condition, ', ' ORDER BY position) FROM conditions) AS conditions,
    s.trials_per_cell,
    (SELECT count(*) FROM planned_trials) AS planned,
    s.treatment, s.control, s.primary_outcome, s.margin
FROM study AS s;
