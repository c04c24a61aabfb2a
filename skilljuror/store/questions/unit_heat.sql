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
judged AS (
    SELECT
        o.condition, o.task,
        bool_and(coalesce(u.events = u.judged, true)) AND EXISTS (FROM verdicts WHERE judge = coalesce(CAST($judge AS VARCHAR), tracing_judge())) AS whole
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
shown AS MATERIALIZED (  -- events that showed the same units have the same `text`
    SELECT
        trajectory, ordinal, agent, step, concat(trajectory, '#', ordinal) AS event,
        hash(sum(hash(unit)), sum(tokens), count(tokens)) AS text
    FROM exposure GROUP BY trajectory, ordinal, agent, step
),
texts AS MATERIALIZED (
    SELECT s.text, e.unit, e.tokens
    FROM (SELECT unnest(min((trajectory, ordinal, agent, step, text)), recursive := true) FROM shown GROUP BY text)
        AS s (trajectory, ordinal, agent, step, text)
    JOIN exposure AS e USING (trajectory, ordinal, agent, step)
),
said AS MATERIALIZED (
    SELECT v.event, v.label = 'yes' OR is_open(v.label, v.category) AS maybe
    FROM verdicts AS v JOIN (SELECT event FROM shown UNION SELECT event FROM unit_uses) AS e USING (event)
    WHERE v.judge = coalesce(CAST($judge AS VARCHAR), tracing_judge())
),
showings AS MATERIALIZED (
    SELECT o.condition, o.task, o.run, s.text, s.step, coalesce(v.maybe, false) AS maybe
    FROM of_task AS o JOIN shown AS s USING (trajectory) LEFT JOIN said AS v USING (event)
),
held AS MATERIALIZED (
    SELECT condition, task, text, unit, events * tokens AS tokens
    FROM (SELECT condition, task, text, count(*) AS events FROM showings GROUP BY ALL) JOIN texts USING (text)
),
sums AS MATERIALIZED (  -- units of a task that the same texts hold are a `part`: the same events showed them
    SELECT condition, task, unit, sum(text) AS part, sum(tokens) AS tokens FROM held GROUP BY ALL
),
seen AS MATERIALIZED (
    SELECT s.condition, s.task, s.run, h.part, min(s.step) AS step, bool_or(s.maybe) AS maybe
    FROM showings AS s
    JOIN (SELECT DISTINCT condition, task, text, part FROM held JOIN sums USING (condition, task, unit)) AS h USING (condition, task, text)
    GROUP BY ALL
),
proofs AS (
    SELECT o.condition, o.task, p.unit, count(*) AS low, count(*) FILTER (s.maybe IS NOT true) AS other
    FROM (SELECT DISTINCT u.trial AS run, u.unit FROM unit_uses AS u JOIN said USING (event)) AS p
    JOIN (SELECT DISTINCT condition, task, run FROM of_task) AS o USING (run)
    LEFT JOIN sums AS q USING (condition, task, unit)
    LEFT JOIN seen AS s ON s.run = o.run AND s.part = q.part
    GROUP BY ALL
),
ran AS (
    SELECT o.condition, o.task, u.skill || '/' || u.resource AS file, count(DISTINCT o.run) AS runs
    FROM of_task AS o
    JOIN uses AS u ON u.run = o.run AND u.kind IN ('exec', 'import') AND u.ok IS NOT false AND NOT u.phantom
    GROUP BY o.condition, o.task, file
),
counted AS (
    SELECT
        condition, task, unit, coalesce(s.runs, 0) AS seen, coalesce(p.low, 0) AS low,
        coalesce(s.maybe, 0) + coalesce(p.other, 0) AS high, s.steps, q.tokens
    FROM sums AS q
    JOIN (
        SELECT condition, task, part, count(*) AS runs, count(*) FILTER (maybe) AS maybe, list(step) AS steps
        FROM seen GROUP BY ALL
    ) AS s USING (condition, task, part)
    FULL JOIN proofs AS p USING (condition, task, unit)
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
