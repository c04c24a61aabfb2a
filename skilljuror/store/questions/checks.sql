-- question: Which checks does the treatment earn, and which does it lose?
-- section: RQ2
-- grain: one row is one task and check: a test of its verifier, or an item of a rubric
-- columns: task, check, report, treatment, control, treatment_runs, control_runs, treatment_rate, control_rate,
--   delta_rate, class, class_reason, points, group, criterion, unit, judge
-- arms: treatment, control
-- params: treatment=null, control=null, tasks=null
-- read: The largest differences come first, harmed checks before induced ones. A rate is over the usable trials that
--   reported the check: compare their numbers with the trials planned.
-- empty: The database has no two conditions of a study to compare, or none of their trials has check results.
-- column report: file of the verifier's report, or name of the rubric
-- column treatment_runs: usable trials in which the check has a result: skipped and unjudged ones have none
-- column treatment_rate: mean of awarded / points over these
-- column class: induced 0 to 1, redundant 1 to 1, unmoved 0 to 0, harmed 1 to 0 (control to treatment), else mixed
-- column class_reason: why there is no class: it needs three runs in both arms
-- column points: its weight; 1 for a test that names none
-- column group: group of the rubric's item; null for a test
-- column criterion: criterion of the task that it checks, by its own mark
-- column unit: knowledge unit that the item comes from
-- column judge: who judged the item: code, a model or people; null for a test
WITH contrast AS (
    SELECT
        coalesce(CAST($treatment AS VARCHAR), (SELECT max(treatment) FROM study)) AS treatment,
        coalesce(CAST($control AS VARCHAR), (SELECT max(control) FROM study)) AS control
),
counted AS (
    SELECT
        r.task, c.name, c.source, k.treatment, k.control,
        count(c.award) FILTER (WHERE r.condition = k.treatment) AS treatment_runs,
        count(c.award) FILTER (WHERE r.condition = k.control) AS control_runs,
        avg(c.award / nullif(c.points, 0)) FILTER (WHERE r.condition = k.treatment) AS treatment_rate,
        avg(c.award / nullif(c.points, 0)) FILTER (WHERE r.condition = k.control) AS control_rate,
        max(c.points) AS points, max(c.item_group) AS item_group, max(c.criterion) AS criterion, max(c.unit) AS unit,
        string_agg(DISTINCT c.judge, ', ' ORDER BY c.judge) AS judge
    FROM contrast AS k
    JOIN arm_runs AS r ON r.condition IN (k.treatment, k.control) AND r.usable
    JOIN check_results AS c ON c.trial = r.run
    WHERE (CAST($tasks AS VARCHAR) IS NULL OR list_contains(string_split(CAST($tasks AS VARCHAR), ' '), r.task))
    GROUP BY ALL
),
compared AS (
    SELECT
        *, treatment_rate - control_rate AS delta_rate,
        CASE
            WHEN least(treatment_runs, control_runs) < 3 THEN 'fewer than 3 runs in an arm'
            WHEN delta_rate IS NULL THEN 'it has no points'
        END AS class_reason
    FROM counted
)
SELECT
    task, name AS "check", source AS report, treatment, control, treatment_runs, control_runs,
    treatment_rate, control_rate, delta_rate,
    CASE
        WHEN class_reason IS NOT NULL THEN NULL
        WHEN treatment_rate = control_rate AND control_rate IN (0, 1) THEN if(control_rate = 1, 'redundant', 'unmoved')
        WHEN delta_rate = 1 THEN 'induced'
        WHEN delta_rate = -1 THEN 'harmed'
        ELSE 'mixed'
    END AS class,
    class_reason, points, item_group AS "group", criterion, unit, judge
FROM compared
ORDER BY abs(delta_rate) DESC NULLS LAST, delta_rate, task, report, "check";
