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
judges AS (SELECT DISTINCT judge FROM verdicts WHERE NOT starts_with(judge, 'model/')),
counted AS (
    SELECT run, judge, label, open, events FROM judged_uses
    UNION ALL
    SELECT run, judge, NULL, false, events - judged FROM judged_runs WHERE events > judged
)
SELECT
    j.judge,
    r.condition,
    CASE r.condition WHEN k.treatment THEN true WHEN k.control THEN false END AS treated,
    coalesce(r.task, r.run) AS task,
    c.label,
    c.open,
    CAST(sum(c.events) AS BIGINT) AS events
FROM counted AS c
JOIN runs AS r ON r.run = c.run
JOIN judges AS j ON j.judge = c.judge
CROSS JOIN contrast AS k
GROUP BY ALL
ORDER BY j.judge, min(r.position), r.condition, task, c.label, c.open;
