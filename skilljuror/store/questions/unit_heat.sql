-- question: Which parts of the Skill were runs shown, and which did they use?
-- section: RQ3
-- grain: one row is one condition and knowledge unit of a Skill in the offered layout
-- columns: condition, tasks, file, first_line, last_line, kind, tokens, runs, seen, unplaced, ran, used_low,
--   used_high, first_step, tokens_per_run, unit, text
-- arms: condition
-- params: condition=null, judge=null
-- read: Units are the sentences, items, rows, code lines and headings of the text. A unit that none of n runs was
--   shown, and none unplaced, is shown to at most 3/n of all runs, with 95 % confidence.
-- empty: These runs have no knowledge map (`skilljuror build` and `run` create one); for a Skill in logs as
--   found, see `skilljuror heat STUDY --skill DIR`.
-- null used_low: these uses are not judged yet; run `skilljuror judge STUDY`
-- column tasks: tasks that offer the Skill with the same files; their runs count together
-- column runs: runs of these tasks whose log could be read
-- column seen: of these, runs in which any agent was shown a line of the unit
-- column unplaced: runs that were shown a part of a Skill at unknown lines, which may hold the unit
-- column ran: runs in which the file was run or imported: its text need not be shown for that
-- column used_low: runs in which a line of the unit proves a use, by itself: a lower bound; null unless every use
--   of these runs is judged
-- column used_high: used_low, and runs that were shown the unit by an access with the label yes or an open one
-- column first_step: median step of the first showing, over the runs that were shown it
-- column tokens_per_run: tokens of the unit's text, each time it was shown, over all runs
WITH of_task AS (
    SELECT r.condition, r.position, r.task, r.run, t.trajectory
    FROM arm_runs AS r
    JOIN trajectories AS t ON r.usable AND t.trial = r.run
    WHERE t.units IS NOT NULL
        AND (CAST($condition AS VARCHAR) IS NULL OR r.condition = CAST($condition AS VARCHAR))
),
said AS (
    SELECT
        event, trial AS trajectory, CAST(regexp_extract(event, '\d+$') AS INTEGER) AS ordinal,
        label = 'yes' OR is_open(label, category) AS maybe
    FROM verdicts WHERE judge = coalesce(CAST($judge AS VARCHAR), tracing_judge())
),
judged AS (
    SELECT
        o.condition, o.task,
        bool_and(coalesce(u.events = u.judged, true)) AND (SELECT count(*) > 0 FROM said) AS whole
    FROM of_task AS o
    LEFT JOIN judged_runs AS u
        ON u.run = o.run AND u.judge IS NOT DISTINCT FROM coalesce(CAST($judge AS VARCHAR), tracing_judge())
    GROUP BY o.condition, o.task
),
totals AS (
    SELECT
        condition, position, task, count(DISTINCT run) AS runs,
        count(DISTINCT run) FILTER (WHERE is_unplaced(trajectory)) AS unplaced
    FROM of_task GROUP BY condition, position, task
),
showings AS (
    SELECT o.condition, o.task, o.run, e.unit, e.step, e.tokens, e.maybe
    FROM of_task AS o
    JOIN (
        SELECT
            e.trajectory, e.unit, min(e.step) AS step, sum(e.tokens) AS tokens, bool_or(coalesce(s.maybe, false)) AS maybe
        FROM exposure AS e LEFT JOIN said AS s USING (trajectory, ordinal)
        GROUP BY e.trajectory, e.unit
    ) AS e USING (trajectory)
),
proofs AS (
    SELECT DISTINCT o.condition, o.task, o.run, p.unit
    FROM of_task AS o
    JOIN unit_uses AS p ON p.trial = o.run AND p.event IN (SELECT event FROM said)
),
ran AS (
    SELECT o.condition, o.task, u.skill || '/' || u.resource AS file, count(DISTINCT o.run) AS runs
    FROM of_task AS o
    JOIN uses AS u ON u.run = o.run AND u.kind IN ('exec', 'import') AND u.ok IS NOT false AND NOT u.phantom
    GROUP BY o.condition, o.task, file
),
counted AS (
    SELECT
        condition, task, unit,
        count(s.run) AS seen,
        count(p.run) AS low,
        count(*) FILTER (WHERE p.run IS NOT NULL OR s.maybe) AS high,
        list(s.step) FILTER (WHERE s.step IS NOT NULL) AS steps,
        sum(s.tokens) AS tokens
    FROM showings AS s
    FULL JOIN proofs AS p USING (condition, task, run, unit)
    GROUP BY condition, task, unit
),
roots AS (
    SELECT build, variant, regexp_replace(path, '[^/]*$', '') AS folder FROM variant_files WHERE resource_class = 'root'
),
skill_files AS (
    SELECT f.build, f.variant, f.path, f.sha256, max(r.folder) AS folder
    FROM variant_files AS f
    LEFT JOIN roots AS r ON r.build = f.build AND r.variant = f.variant AND starts_with(f.path, r.folder)
    GROUP BY ALL
),
skills AS (  -- Skills with the same files are one, in whatever task
    SELECT build, variant, folder, md5(string_agg(path || ' ' || sha256, chr(10) ORDER BY path)) AS digest
    FROM skill_files GROUP BY ALL
),
places AS (
    SELECT
        a.condition, p.build AS task, p.file, p.first_line, p.last_line,
        coalesce(s.digest, p.build) AS digest, p.unit, u.kind, u.tokens, u.text,
        row_number() OVER (
            PARTITION BY a.condition, p.build, p.file, p.first_line, p.last_line, u.kind, u.text ORDER BY p.unit
        ) AS place
    FROM conditions AS a
    JOIN unit_places AS p ON p.variant = a.variant
    JOIN units AS u ON u.build = p.build AND u.unit = p.unit AND is_content(u.kind)
    LEFT JOIN skill_files AS f ON f.build = p.build AND f.variant = p.variant AND f.path = p.file
    LEFT JOIN skills AS s ON s.build = f.build AND s.variant = f.variant AND s.folder IS NOT DISTINCT FROM f.folder
)
SELECT
    t.condition, string_agg(t.task, ', ' ORDER BY t.task) AS tasks,
    p.file, p.first_line, p.last_line, p.kind, p.tokens,
    CAST(sum(t.runs) AS BIGINT) AS runs,
    CAST(sum(coalesce(c.seen, 0)) AS BIGINT) AS seen,
    CAST(sum(t.unplaced) AS BIGINT) AS unplaced,
    CAST(sum(coalesce(x.runs, 0)) AS BIGINT) AS ran,
    if(bool_and(j.whole), CAST(sum(coalesce(c.low, 0)) AS BIGINT), NULL) AS used_low,
    if(bool_and(j.whole), CAST(sum(coalesce(c.high, 0)) AS BIGINT), NULL) AS used_high,
    list_median(flatten(list(c.steps) FILTER (WHERE c.steps IS NOT NULL))) AS first_step,
    sum(coalesce(c.tokens, 0)) / sum(t.runs) AS tokens_per_run,
    min(p.unit) AS unit, p.text
FROM totals AS t
JOIN judged AS j ON j.condition = t.condition AND j.task = t.task
JOIN places AS p ON p.condition = t.condition AND p.task = t.task
LEFT JOIN counted AS c ON c.condition = t.condition AND c.task = t.task AND c.unit = p.unit
LEFT JOIN ran AS x ON x.condition = t.condition AND x.task = t.task AND ('/' || p.file).ends_with('/' || x.file)
GROUP BY
    t.condition, t.position, p.digest, p.file, p.first_line, p.last_line, p.kind, p.tokens, p.text, p.place
ORDER BY t.position, tasks, p.file, p.first_line, p.last_line, unit;
