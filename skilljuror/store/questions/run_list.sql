-- question: Which runs are there, how did they end, and which skills did they open?
-- section: lists
-- grain: one row is one planned trial, foreign run, or foreign trial without a log: `limit` rows from `offset` on
-- columns: run, started_at, project, agent, model, task, condition, outcome, reward, opened, skills, uses, failed,
--   readable, matching
-- params: project=null, model=null, skill=null, outcome=null|passed|failed|timeout|unscored|error|missing|unknown,
--   task=null, condition=null, limit=100, offset=0
-- read: With `skill`, the runs that were offered it or used it, those that opened it first; else the latest first.
-- empty: No run is like this.
-- column run: name of the trial, or key of the foreign run
-- column project: name of the run's working folder; null unless stored by `ingest --projects`
-- column model: model that answered, by the log; or else the planned one
-- column outcome: passed: reward 1; failed: a lower reward; without a reward the status of the trial, error for a
--   foreign run with an exception, or unknown
-- column opened: whether it opened `skill`; null without it, and if only an unknown tool may have
-- column skills: skills that it opened
-- column uses: resource events except authoring and mentions; null without a log, and if unknown
-- column failed: uses that failed
-- column readable: whether it has a readable log
-- column matching: runs that match, on all pages
WITH logs AS (
    SELECT coalesce(trial, trajectory) AS run, trajectory, started_at, project, agent, model
    FROM trajectories QUALIFY row_number() OVER (PARTITION BY coalesce(trial, trajectory) ORDER BY trajectory) = 1
),
touched AS MATERIALIZED (SELECT trajectory, skill, opened, uses, failed FROM skill_runs),
listed AS (
    SELECT
        r.run, l.trajectory, r.task, r.reward, r.readable, l.project, o.opened,
        coalesce(l.started_at, t.started_at, u.started_at) AS started_at,
        coalesce(l.agent, t.agent, u.agent, c.agent) AS agent,
        coalesce(l.model, t.model, u.model, c.model) AS model,
        c.condition,
        CASE
            WHEN r.reward = 1 THEN 'passed'
            WHEN r.reward IS NOT NULL THEN 'failed'
            WHEN r.status <> 'observed' THEN r.status
            WHEN r.exception IS NOT NULL THEN 'error'
            ELSE 'unknown'
        END AS outcome
    FROM all_runs AS r
    LEFT JOIN logs AS l ON l.run = r.run
    LEFT JOIN trials AS t ON t.trial = r.run
    LEFT JOIN unlogged_trials AS u ON u.trial = r.run AND NOT r.readable
    LEFT JOIN conditions AS c ON c.condition = r.condition
    LEFT JOIN touched AS o ON o.trajectory = l.trajectory AND o.skill = CAST($skill AS VARCHAR)
    WHERE CAST($skill AS VARCHAR) IS NULL OR o.trajectory IS NOT NULL
),
page AS (
    SELECT *, count(*) OVER () AS matching
    FROM listed
    WHERE (CAST($project AS VARCHAR) IS NULL OR project = CAST($project AS VARCHAR))
        AND (CAST($model AS VARCHAR) IS NULL OR model = CAST($model AS VARCHAR))
        AND (CAST($outcome AS VARCHAR) IS NULL OR outcome = CAST($outcome AS VARCHAR))
        AND (CAST($task AS VARCHAR) IS NULL OR task = CAST($task AS VARCHAR))
        AND (CAST($condition AS VARCHAR) IS NULL OR condition = CAST($condition AS VARCHAR))
    ORDER BY opened DESC NULLS LAST, started_at DESC NULLS LAST, run
    LIMIT CAST($limit AS INTEGER) OFFSET CAST($offset AS INTEGER)
),
used AS (
    SELECT
        trajectory, string_agg(skill, ', ' ORDER BY skill) FILTER (WHERE opened) AS skills,
        sum(uses) AS uses, sum(failed) AS failed, bool_or(uses IS NULL) AS unknown
    FROM touched WHERE trajectory IN (SELECT trajectory FROM page) GROUP BY trajectory
)
SELECT
    p.run, p.started_at, p.project, p.agent, p.model, p.task, p.condition, p.outcome, p.reward, p.opened, u.skills,
    if(u.unknown OR NOT p.readable, NULL, CAST(coalesce(u.uses, 0) AS BIGINT)) AS uses,  -- without a row no event: zero
    if(p.readable, CAST(coalesce(u.failed, 0) AS BIGINT), NULL) AS failed,  -- likewise
    p.readable, p.matching
FROM page AS p LEFT JOIN used AS u ON u.trajectory = p.trajectory
ORDER BY p.opened DESC NULLS LAST, p.started_at DESC NULLS LAST, p.run;
