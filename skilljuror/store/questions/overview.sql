-- question: What does this database contain?
-- section: overview
-- grain: one row is the whole database
-- columns: study, treatment, control, tasks, conditions, planned, finished, scored, scripted,
--   agents, models, trajectories, unlogged_trials, steps, uses, judges, sources, unreadable_sources
-- first: study, trajectories, steps, uses, agents, models, sources, unreadable_sources
-- column planned: trials in the frozen plan; every rate is divided by these
-- column finished: planned trials with a record, whatever their outcome
-- column scored: finished trials with a reward
-- column scripted: finished trials of a scripted policy, without a language model
-- column unlogged_trials: foreign trials with a result and no log; not in trajectories
-- column uses: resource events that are a use, excluding authoring and mentions
-- column judges: judges of all uses, not models that only rechecked a sample of yes
-- column unreadable_sources: files of a known format that could not be read
SELECT
    (SELECT max(study) FROM study) AS study,
    (SELECT max(treatment) FROM study) AS treatment,
    (SELECT max(control) FROM study) AS control,
    (SELECT count(*) FROM tasks) AS tasks,
    (SELECT count(*) FROM conditions) AS conditions,
    (SELECT count(*) FROM planned_trials) AS planned,
    (SELECT count(*) FROM planned_trials JOIN trials USING (trial)) AS finished,
    (SELECT count(reward) FROM planned_trials JOIN trials USING (trial)) AS scored,
    (SELECT count(*) FROM trials WHERE scripted) AS scripted,
    (SELECT string_agg(DISTINCT agent, ', ' ORDER BY agent)
        FROM (
            SELECT agent FROM trials
            UNION ALL SELECT agent FROM trajectories WHERE trial IS NULL
            UNION ALL SELECT agent FROM unlogged_trials
        )
    ) AS agents,
    (SELECT string_agg(DISTINCT model, ', ' ORDER BY model)
        FROM (
            SELECT model FROM trials
            UNION ALL SELECT model FROM trajectories WHERE trial IS NULL
            UNION ALL SELECT model FROM unlogged_trials
        )
    ) AS models,
    (SELECT count(*) FROM trajectories) AS trajectories,
    (SELECT count(*) FROM unlogged_trials) AS unlogged_trials,
    (SELECT count(*) FROM steps) AS steps,
    (SELECT count(*) FROM uses) AS uses,
    (SELECT string_agg(DISTINCT judge, '; ' ORDER BY judge) FROM verdicts WHERE NOT starts_with(judge, 'model/'))
        AS judges,
    (SELECT count(*) FROM sources) AS sources,
    (SELECT count(*) FROM sources WHERE status = 'error') AS unreadable_sources;
