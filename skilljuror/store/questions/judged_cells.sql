-- question: How did each judge label the uses, task by task?
-- section: lists
-- grain: one row is one judge, condition, task, label and set of answers
-- columns: judge, condition, treated, task, label, open, answers, events
-- empty: No uses, or none judged yet. Judge them with `skilljuror judge STUDY`.
-- column treated: true for the study's treatment, false for its control, null for other conditions
-- column task: the task; for a foreign run without a harness trial, the run
-- column label: yes, no or unknown; null for a use without a verdict
-- column open: true for an unknown whose content was shown
-- column answers: all usable answers, in order, of a model that was asked several times; else the label
WITH contrast AS (SELECT max(treatment) AS treatment, max(control) AS control FROM study),
judges AS (SELECT DISTINCT judge FROM verdicts WHERE NOT starts_with(judge, 'model/')),
repeats AS (
    SELECT judge, event, string_agg(label, ' ' ORDER BY repeat) AS answers
    FROM repeated_verdicts
    WHERE probe = 'repeat' AND category <> 'unparsed'
    GROUP BY judge, event
)
SELECT
    j.judge,
    r.condition,
    CASE r.condition WHEN k.treatment THEN true WHEN k.control THEN false END AS treated,
    coalesce(r.task, r.run) AS task,
    v.label,
    coalesce(v.open, false) AS open,
    coalesce(p.answers, v.label, 'unknown') AS answers,
    count(*) AS events
FROM uses AS u
JOIN runs AS r ON r.run = u.run
CROSS JOIN judges AS j
CROSS JOIN contrast AS k
LEFT JOIN uptake_verdicts AS v ON v.event = u.event AND v.judge = j.judge
LEFT JOIN repeats AS p ON p.event = u.event AND p.judge = j.judge
GROUP BY ALL
ORDER BY j.judge, min(r.position), r.condition, task, v.label, open, answers;
