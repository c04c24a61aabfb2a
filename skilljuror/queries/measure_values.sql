-- question: What is the value of a measure in every trial of the contrast?
-- section: lists
-- grain: one row is one measure of one planned trial
-- columns: metric, task, condition, treated, trial, value, reason
-- params: metrics=agent_minutes display_tokens cost_usd, treatment=null, control=null
-- empty: There are no two conditions of a study to compare in this database. Of logs as they were
--   found `skilljuror query STUDY metrics` tells which measures there are and of how many runs each
--   is known.
-- column treated: whether the trial belongs to the treatment
-- column reason: why there is no value; "missing" for a trial without a row
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
    if(m.trial IS NULL, 'missing', m.reason) AS reason
FROM contrast AS k
JOIN runs AS r ON r.condition IN (k.treatment, k.control)
CROSS JOIN wanted AS w
LEFT JOIN measures AS m ON m.trial = r.run AND m.metric = w.metric AND m.key = ''
ORDER BY w.metric, r.task, treated, r.run;
