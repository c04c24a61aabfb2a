-- question: Do agents open a Skill for the queries that should trigger it, and for no others?
-- section: RQ3
-- grain: one row is one condition and Skill with trigger queries; with several Skills, one more row has all of them
-- columns: condition, skill, offered, trials, unknown, hits, misses, false_alarms, quiet, precision, precision_low,
--   precision_high, recall, recall_low, recall_high, f1, f1_low, f1_high, reason, misrouted, instead
-- arms: condition
-- read: Only the description of a Skill can attract an agent that has not opened it. Trials of one query resemble
--   each other, so the ends are Wilson's for the number of queries, not of trials.
-- empty: No task of the study is a trigger query. A task is one if it has tests/trigger.json with `should_trigger`
--   and `skill`, or these two attributes in the study file: should_trigger, trigger_skill.
-- column skill: the Skill that the queries are about; null in the row of all Skills
-- column offered: whether the condition offers it; null if neither variant nor log says so
-- column trials: trials of its queries; hits + misses + false_alarms + quiet + unknown
-- column unknown: trials that are not usable or without a readable log, or where only a tool that skilljuror does not
--   know may have opened it; no rate counts them
-- column hits: trials that should open it and did: any of its resources was activated, read, run or imported
-- column misses: trials that should open it and did not
-- column false_alarms: trials that should not open it and did
-- column quiet: trials that should not open it and did not
-- column precision: hits / (hits + false_alarms)
-- column recall: hits / (hits + misses)
-- column f1: 2 hits / (2 hits + misses + false_alarms), which is 2 j / (1 + j) with j = hits / (hits + misses +
--   false_alarms); its ends are those of j
-- column reason: why a rate or its ends are null; a Skill that is not offered is never opened, whatever its queries
-- column misrouted: misses in which another Skill was opened
-- column instead: these Skills, with the number of misses in which each was opened
WITH queries AS (
    SELECT a.task, lower(a.value) = 'true' AS expected, k.value AS skill
    FROM task_attributes AS a
    JOIN task_attributes AS k ON k.task = a.task AND k.attribute = 'trigger_skill'
    WHERE a.attribute = 'should_trigger' AND lower(a.value) IN ('true', 'false')
),
found AS (
    SELECT
        r.condition, r.position, r.run, r.task, q.skill, q.expected,
        CASE
            WHEN c.variant IS NULL THEN false
            WHEN bool_or(s.offered AND s.own) THEN true
            WHEN bool_or(list_contains(list_transform(v.skills, lambda n: plain_name(n)), plain_name(q.skill))) THEN true
            WHEN bool_or(v.variant IS NOT NULL) THEN false
        END AS offers,
        coalesce(any_value(v.skills), []) AS folders,
        CASE
            WHEN NOT r.readable THEN NULL
            WHEN coalesce(bool_or(s.own AND s.opened), false) THEN true
            WHEN count(*) FILTER (WHERE s.own AND s.opened IS NULL) = 0 THEN false
        END AS opened,
        coalesce(list(DISTINCT s.skill ORDER BY s.skill) FILTER (WHERE r.readable AND NOT s.own AND s.opened), [])
            AS others
    FROM arm_runs AS r
    JOIN queries AS q ON q.task = r.task
    JOIN conditions AS c ON c.condition = r.condition
    LEFT JOIN variants AS v ON v.build = r.task AND v.variant = c.variant
    LEFT JOIN (
        SELECT l.trial, s.*, plain_name(s.skill) = plain_name(q.skill) AS own
        FROM skill_runs AS s
        JOIN trajectories AS l USING (trajectory)
        JOIN planned_trials AS p USING (trial)
        JOIN queries AS q ON q.task = p.task
    ) AS s ON s.trial = r.run
    GROUP BY r.condition, r.position, r.run, r.task, r.readable, c.variant, q.skill, q.expected
),
instead AS (
    SELECT condition, skill, string_agg(other || ' ' || times, ', ' ORDER BY times DESC, other) AS instead
    FROM (
        SELECT condition, skill, other, count(*) AS times
        FROM (SELECT condition, skill, unnest(others) AS other FROM found WHERE expected AND NOT opened)
        GROUP BY GROUPING SETS ((condition, skill, other), (condition, other))
    )
    GROUP BY condition, skill
),
counts AS (
    SELECT
        condition, position, skill,
        count(DISTINCT skill) AS skills,
        bool_or(offers) AS offered,
        nullif(array_to_string(list_sort(list_distinct(flatten(list(folders)))), ', '), '') AS folders,
        count(*) AS trials,
        count(*) FILTER (WHERE opened IS NULL) AS unknown,
        count(*) FILTER (WHERE expected AND opened) AS hits,
        count(*) FILTER (WHERE expected AND NOT opened) AS misses,
        count(*) FILTER (WHERE NOT expected AND opened) AS false_alarms,
        count(*) FILTER (WHERE NOT expected AND NOT opened) AS quiet,
        hits / nullif(hits + false_alarms, 0) AS precision,
        hits / nullif(hits + misses, 0) AS recall,
        hits / nullif(hits + misses + false_alarms, 0) AS j,
        if(offered IS false, 0, count(DISTINCT task) FILTER (WHERE opened)) AS of_precision,
        if(offered IS false, 0, count(DISTINCT task) FILTER (WHERE expected AND opened IS NOT NULL)) AS of_recall,
        if(offered IS false, 0, count(DISTINCT task) FILTER (WHERE opened OR (expected AND NOT opened))) AS of_j,
        count(*) FILTER (WHERE expected AND NOT opened AND len(others) > 0) AS misrouted
    FROM found
    GROUP BY GROUPING SETS ((condition, position, skill), (condition, position))
    HAVING skill IS NOT NULL OR skills > 1
)
SELECT
    n.condition, n.skill, n.offered, n.trials, n.unknown, n.hits, n.misses, n.false_alarms, n.quiet,
    n.precision,
    wilson_low(n.precision * of_precision, of_precision) AS precision_low,
    wilson_high(n.precision * of_precision, of_precision) AS precision_high,
    n.recall,
    wilson_low(n.recall * of_recall, of_recall) AS recall_low,
    wilson_high(n.recall * of_recall, of_recall) AS recall_high,
    2 * n.j / (1 + n.j) AS f1,
    2 * wilson_low(n.j * of_j, of_j) / (1 + wilson_low(n.j * of_j, of_j)) AS f1_low,
    2 * wilson_high(n.j * of_j, of_j) / (1 + wilson_high(n.j * of_j, of_j)) AS f1_high,
    CASE
        WHEN n.offered IS false THEN n.condition || ' offers ' || coalesce(n.folders || ' only', 'no Skill') || ', so it is never opened'
        WHEN n.unknown = n.trials THEN 'no trial shows whether it was opened'
        WHEN n.hits + n.misses = 0 AND n.false_alarms = 0 THEN 'never opened, and no known trial should open it'
        WHEN n.hits + n.misses = 0 THEN 'no known trial should open it'
        WHEN n.hits + n.false_alarms = 0 THEN 'never opened'
    END AS reason,
    n.misrouted,
    i.instead
FROM counts AS n
LEFT JOIN instead AS i ON i.condition = n.condition AND i.skill IS NOT DISTINCT FROM n.skill
ORDER BY n.position, n.skill NULLS LAST;
