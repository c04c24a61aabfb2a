-- question: What is the value of a measure in each trial of the contrast?
-- section: lists
-- grain: one row is one measure of one planned trial
-- columns: metric, task, condition, treated, trial, value, reason, unusable
-- params: metrics=agent_minutes display_tokens cost_usd, treatment=null, control=null
-- empty: The database has no two conditions of a study to compare. For foreign logs, `skilljuror query STUDY
--   metrics` lists the measures and the number of runs with a value.
-- column treated: true for trials of the treatment
-- column unusable: why no figure may use the trial; null if usable
-- column reason: reason for a missing value; "missing" for a trial without a row
WITH contrast AS (
    SELECT
        coalesce(CAST($treatment AS VARCHAR), (SELECT max(treatment) FROM study)) AS treatment,
        coalesce(CAST($control AS VARCHAR), (SELECT max(control) FROM study)) AS control
),
wanted AS (
    SELECT unnest(string_split(CAST($metrics AS VARCHAR), ' ')) AS metric
)
SELECT
    w.metric,
    r.task,
    r.condition,
    r.condition = k.treatment AS treated,
    r.run AS trial,
    m.value,
    if(m.trial IS NULL, 'missing', m.reason) AS reason,
    r.unusable
FROM contrast AS k
JOIN arm_runs AS r ON r.condition IN (k.treatment, k.control)
CROSS JOIN wanted AS w
LEFT JOIN measures AS m ON m.trial = r.run AND m.metric = w.metric AND m.key = ''
ORDER BY w.metric, r.task, treated, r.run;
