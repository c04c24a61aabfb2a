-- question: What did each judge say, task by task?
-- section: lists
-- grain: one row is one judge, condition, task, label and set of answers
-- columns: judge, condition, treated, task, label, open, answers, events
-- empty: Nobody judged these uses yet, or there are none: `skilljuror judge STUDY` does.
-- column treated: whether this is the study's treatment; false for its control, null for other conditions
-- column task: the task; of a foreign run that no trial of a harness holds, the run
-- column label: yes, no or unknown; null for a use without a verdict
-- column open: whether it is an unknown that nobody could decide: shown and not seen again, or without a
--   usable answer of a model
-- column answers: all usable answers of a model that was asked several times, in order; else the label
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
    coalesce(is_open(v.label, v.category), false) AS open,
    coalesce(p.answers, v.label, 'unknown') AS answers,
    count(*) AS events
FROM uses AS u
JOIN runs AS r ON r.run = u.run
CROSS JOIN judges AS j
CROSS JOIN contrast AS k
LEFT JOIN verdicts AS v ON v.event = u.event AND v.judge = j.judge
LEFT JOIN repeats AS p ON p.event = u.event AND p.judge = j.judge
GROUP BY ALL
ORDER BY j.judge, min(r.position), r.condition, task, v.label, open, answers;
