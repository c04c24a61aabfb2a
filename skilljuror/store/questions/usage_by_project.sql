-- question: In which projects, and by whom, was each skill offered and opened?
-- section: RQ3
-- grain: one row is one skill and project, and person if asked for
-- columns: skill, project, person, offered, opened, unknown, open_rate, unlisted, opened_unlisted, last_opened, run_usd,
--   run_usd_known, run_usd_reason
-- first: skill, project, person, offered, opened, open_rate, opened_unlisted, last_opened, run_usd
-- params: since=null, skill=null, people=false
-- read: Names come from paths in logs: projects in folders of the same name are one. A run's dollars are those of
--   the whole run, for each skill that it opened; do not add them up over skills.
-- empty: No run has the name of its project or person; `skilljuror ingest PATH --projects --study STUDY` stores
--   them, but not in a folder with --no-quotes.
-- column project: name of the run's working folder; null if unknown
-- column person: name of its home folder, with `people=true`
-- column offered: runs that were offered it, by their log
-- column opened: of these, runs that activated, read, ran or imported any of its resources
-- column unknown: of these, runs in which only a tool that skilljuror does not know may have opened it; they are not in
--   the rate, and `opened` is null if all are
-- column unlisted: other runs that touched it; their log does not list it as offered
-- column opened_unlisted: of these, runs that opened it
-- column last_opened: start of the latest run that opened it
-- column run_usd: mean cost at the dated list price, of the runs that opened it whose tokens and price are known
-- column run_usd_known: number of these runs
-- column run_usd_reason: reasons of the other runs; not_opened without any
WITH costs AS (
    SELECT trial AS trajectory, value AS usd, reason FROM measures WHERE metric = 'cost_usd'
)
SELECT
    s.skill, t.project, if(CAST($people AS BOOLEAN), t.person, NULL) AS person,
    count(*) FILTER (WHERE s.offered) AS offered,
    if(bool_and(s.opened IS NULL) FILTER (WHERE s.offered), NULL, count(*) FILTER (WHERE s.offered AND s.opened)) AS opened,
    count(*) FILTER (WHERE s.offered AND s.opened IS NULL) AS unknown,
    count(*) FILTER (WHERE s.offered AND s.opened) / nullif(count(s.opened) FILTER (WHERE s.offered), 0) AS open_rate,
    count(*) FILTER (WHERE NOT s.offered) AS unlisted,
    count(*) FILTER (WHERE NOT s.offered AND s.opened) AS opened_unlisted,
    max(t.started_at) FILTER (WHERE s.opened) AS last_opened,
    avg(c.usd) FILTER (WHERE s.opened) AS run_usd,
    count(c.usd) FILTER (WHERE s.opened) AS run_usd_known,
    if(
        bool_or(s.opened),
        string_agg(DISTINCT c.reason, ', ' ORDER BY c.reason) FILTER (WHERE s.opened), 'not_opened'
    ) AS run_usd_reason
FROM skill_runs AS s
JOIN trajectories AS t ON t.trajectory = s.trajectory
LEFT JOIN costs AS c ON c.trajectory = s.trajectory
WHERE (CAST($skill AS VARCHAR) IS NULL OR CAST($skill AS VARCHAR) IN (s.skill, regexp_extract(s.skill, '[^:]*$')))
    AND (CAST($since AS VARCHAR) IS NULL OR t.started_at >= CAST($since AS TIMESTAMP))
    AND EXISTS (FROM trajectories WHERE project IS NOT NULL OR person IS NOT NULL)
GROUP BY ALL
ORDER BY count(*) FILTER (WHERE s.opened) DESC, s.skill, t.project NULLS LAST, person NULLS LAST;
