-- question: How is the study set up, and what may differ between conditions?
-- section: overview
-- grain: one row is the study
-- columns: study, harness, agent, model, effort, disclosure, vary, tasks, conditions,
--   trials_per_cell, planned, treatment, control, primary_outcome, margin,
--   healthy_first, spares, fewest_usable, suppressed
-- read: Everything except `vary` is the same in all conditions; a study file whose conditions differ in more
--   is invalid.
-- empty: The database has no planned study, only foreign logs.
-- column agent: agent, or those of all conditions; so model and effort
-- column effort: requested reasoning effort of the agent
-- column disclosure: silent: the prompt is the instruction only; named: it ends with the names of the Skills
-- column planned: tasks x conditions x trials per cell
-- column margin: declared equivalence margin in the primary outcome, percentage points
-- column healthy_first: trials of every task and condition that count, usable ones with a reward first; null: all
-- column spares: planned trials that do not count by this rule, by status; null without the rule
-- column fewest_usable: usable trials below which a condition gets no figures; null: no such rule
-- column suppressed: conditions without figures by this rule; null for none
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
    s.treatment, s.control, s.primary_outcome, s.margin,
    s.healthy_first,
    if(s.healthy_first IS NULL, NULL, (
        SELECT coalesce(string_agg(n || ' ' || status, ', ' ORDER BY status), 'none')
        FROM (
            SELECT status, count(*) AS n FROM all_runs
            WHERE status <> 'observed' AND run NOT IN (SELECT run FROM runs) GROUP BY status
        )
    )) AS spares,
    s.fewest_usable,
    (
        SELECT string_agg(DISTINCT condition, ', ' ORDER BY condition) FROM arm_runs WHERE starts_with(unusable, 'under_')
    ) AS suppressed
FROM study AS s;
