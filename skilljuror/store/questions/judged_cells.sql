-- question: How did each judge label the uses, task by task?
-- section: lists
-- grain: one row is one judge, condition, task and label
-- columns: judge, condition, treated, task, label, open, events
-- empty: No uses, or none judged yet. Judge them with `skilljuror judge STUDY`.
-- column treated: true for the study's treatment, false for its control, null for other conditions
-- column task: the task; for a foreign run without a harness trial, the run
-- column label: yes, no or unknown; null for a use without a verdict
-- column open: true for an unknown whose content was shown
WITH contrast AS (SELECT max(treatment) AS treatment, max(control) AS control FROM study),
judges AS (SELECT DISTINCT judge FROM verdicts WHERE NOT starts_with(judge, 'model/'))
SELECT
    j.judge,
    r.condition,
    CASE r.condition WHEN k.treatment THEN true WHEN k.control THEN false END AS treated,
    coalesce(r.task, r.run) AS task,
    v.label,
    coalesce(v.open, false) AS open,
    count(*) AS events
FROM uses AS u
JOIN runs AS r ON r.run = u.run
CROSS JOIN judges AS j
CROSS JOIN contrast AS k
LEFT JOIN uptake_verdicts AS v ON v.event = u.event AND v.judge = j.judge
GROUP BY ALL
ORDER BY j.judge, min(r.position), r.condition, task, v.label, open;
