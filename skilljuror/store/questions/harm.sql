-- question: Which parts of the Skill did failing runs use more often, and which of its values did failed checks find?
-- section: RQ3
-- grain: one row is one condition, task and unit, or one value of a unit in one check
-- columns: condition, task, level, unit, text, value, check, runs, passing, failing, runs_used, passing_with,
--   failing_with, p, p_holm, p_reason, said
-- arms: condition
-- params: condition=null, task=null
-- read: Counts, never a cause: failing runs may use a unit because the task is hard. Read the text and the failed
--   check, and take the unit out in an arm of its own.
-- empty: Failing runs are not known to have used any unit more often than passing ones. Uses need a knowledge map (`skilljuror build` and `run` create
--   one) and `skilljuror judge STUDY`; of other runs, `skilljuror query STUDY uptake` says what was used.
-- column level: unit: the unit and the outcome of runs, if a larger share of failing than of passing runs used it; value: a value of the unit and the outcome of one check
-- column value: of level value: stands in the unit, and on the actual side (the left) of the check's failed
--   comparison, and not on the expected side: a number, or a text in quotes. Of a rubric's item: stands in the unit
--   and in the quote of the failed item, and in no quote of a fulfilled one
-- column check: of level value: the failed test of the verifier, or item of a rubric
-- column runs: usable runs of the task whose log could be read and whose uses are all judged
-- column passing: of these, strict passes; of level value, runs that passed the check
-- column failing: of these, the others that a verifier judged; of level value, runs that failed the check
-- column runs_used: runs in which a line of the unit proves a use in a later call, by itself: a lower bound
-- column passing_with: of these, the passing ones: a count, never a cause
-- column failing_with: of these, the failing ones; of level value, those whose check found the value. A count, never a
--   cause; null if no comparison of pytest tells which side is the actual one
-- column p: Fisher's exact test, two-sided, of the unit's use in passing and failing runs; of level value none
-- column p_holm: p adjusted by Holm's method for the number of units of the task that runs of the condition used
-- column p_reason: why there is no p, or no count
-- column said: last lines of one such failure
WITH judged AS MATERIALIZED (  -- where a use is not judged, or a tool unknown, nobody knows which units were not used
    SELECT r.condition, r.position, r.task, r.run, r.strict AS passed  -- null without a verifier
    FROM arm_runs AS r
    JOIN trajectories AS t ON t.trial = r.run AND t.units IS NOT NULL
    LEFT JOIN judged_runs AS u ON u.run = r.run AND u.judge = tracing_judge()
    WHERE r.readable
        AND coalesce(u.events = u.judged, true)
        AND r.run NOT IN (SELECT run FROM unknown_opens)
        AND (CAST($condition AS VARCHAR) IS NULL OR r.condition = CAST($condition AS VARCHAR))
        AND (CAST($task AS VARCHAR) IS NULL OR r.task = CAST($task AS VARCHAR))
),
used AS MATERIALIZED (
    SELECT DISTINCT j.*, p.unit
    FROM judged AS j JOIN unit_uses AS p ON p.trial = j.run AND p.judge = tracing_judge()
),
cells AS (
    SELECT condition, position, task, count(*) AS runs, count(*) FILTER (passed) AS passing,
        count(*) FILTER (NOT passed) AS failing
    FROM judged GROUP BY condition, position, task
),
counted AS (
    SELECT
        c.*, u.unit, count(*) AS runs_used,
        count(*) FILTER (u.passed) AS passing_with,
        count(*) FILTER (NOT u.passed) AS failing_with
    FROM cells AS c JOIN used AS u USING (condition, position, task)
    GROUP BY ALL
),
tested AS (
    SELECT
        *, if(least(passing, failing) >= 5, fisher_p(failing_with, failing, passing_with, passing), NULL) AS p
    FROM counted
),
stepped AS (
    SELECT
        *, (count(p) OVER of_task - row_number() OVER (of_task ORDER BY p, unit) + 1) * p AS step
    FROM tested
    WINDOW of_task AS (PARTITION BY condition, task)
),
of_units AS (
    SELECT
        *, 'unit' AS level, failing_with / nullif(failing, 0) - coalesce(passing_with / nullif(passing, 0), 0) AS more,
        if(p IS NULL, NULL, least(1, max(step) OVER (PARTITION BY condition, task ORDER BY p, unit))) AS p_holm,
        if(p IS NULL, 'fewer than 5 passing or 5 failing runs', NULL) AS p_reason
    FROM stepped
    QUALIFY more > 0
),
rights AS (  -- what the items quote that the work fulfils
    SELECT trial, source, string_agg(said, ' ') AS said
    FROM check_results WHERE item_group IS NOT NULL AND outcome = 'passed' GROUP BY trial, source
),
failures AS (  -- an item quotes what the work says
    SELECT
        j.*, c.source, c.name, c.said,
        if(c.item_group IS NULL, side_in(c.said, 1), c.said) AS actual,
        if(c.item_group IS NULL, side_in(c.said, 2), o.said) AS expected
    FROM judged AS j
    JOIN check_results AS c ON c.trial = j.run AND c.outcome = 'failed' AND c.said IS NOT NULL
    LEFT JOIN rights AS o ON o.trial = c.trial AND o.source = c.source
),
found AS (
    SELECT f.*, unnest(values_in(coalesce(actual, said))) AS value FROM failures AS f
),
words AS (
    SELECT DISTINCT n.build AS task, n.unit, unnest(words_in(n.text)) AS value
    FROM units AS n
    WHERE n.unit IN (SELECT unit FROM used)
),
hits AS (
    SELECT f.condition, f.position, f.task, f.run, u.unit, f.value, f.source, f.name, f.said, f.actual
    FROM found AS f
    JOIN words AS w USING (task, value)
    JOIN used AS u ON u.run = f.run AND u.unit = w.unit
    WHERE NOT coalesce(list_contains(words_in(f.expected), f.value), false)
),
of_checks AS (
    SELECT
        u.condition, u.task, u.unit, c.source, c.name, count(*) FILTER (c.outcome = 'passed') AS passing_with
    FROM used AS u JOIN check_results AS c ON c.trial = u.run
    GROUP BY ALL
),
checks AS (
    SELECT
        j.condition, j.task, c.source, c.name,
        count(*) FILTER (c.outcome = 'passed') AS passing, count(*) FILTER (c.outcome = 'failed') AS failing
    FROM judged AS j JOIN check_results AS c ON c.trial = j.run
    GROUP BY ALL
),
of_values AS (
    SELECT
        condition, position, task, 'value' AS level, unit, value, source, name,
        nullif(count(DISTINCT run) FILTER (actual IS NOT NULL), 0) AS failing_with,
        failing_with AS more,
        if(failing_with IS NULL, 'side unknown', 'a value is counted, not tested') AS p_reason,
        coalesce(min(said) FILTER (actual IS NOT NULL), min(said)) AS said
    FROM hits
    GROUP BY condition, position, task, unit, value, source, name
)
SELECT
    f.condition, f.task, f.level, f.unit, n.text, f.value, f.name AS "check", f.runs, f.passing, f.failing, f.runs_used,
    f.passing_with, f.failing_with, f.p, f.p_holm, f.p_reason, f.said
FROM (
    FROM of_units
    UNION ALL BY NAME
    SELECT v.*, k.passing, k.failing, w.passing_with, t.runs, t.runs_used
    FROM of_values AS v
    JOIN checks AS k USING (condition, task, source, name)
    JOIN of_checks AS w USING (condition, task, unit, source, name)
    JOIN counted AS t USING (condition, task, unit)
) AS f
LEFT JOIN units AS n ON n.build = f.task AND n.unit = f.unit
ORDER BY
    f.position, coalesce(f.p_reason = 'side unknown', false), f.level DESC, f.more DESC NULLS LAST, f.p, f.task, f.unit,
    f.value, f.name, f.source;
