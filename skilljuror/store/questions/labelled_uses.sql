-- question: How did people label the sampled uses, and how did each judge?
-- section: RQ3
-- grain: one row is one judge and one use that a person labelled
-- columns: judge, condition, treated, task, event, label, category, person, labels, reviewers, blind,
--   weight
-- read: People label a random sample from every condition and every answer. A label represents as many uses
--   as its weight; a label outside the sample has no weight and corrects no rate.
-- empty: No person has labelled a judged use yet; `skilljuror review STUDY` asks about a sample.
-- column treated: true for the study's treatment, false for its control, null for other conditions
-- column task: the task; for a foreign run without a harness trial, the run
-- column label: label of the judge; unknown if it has none
-- column person: majority label of the people; unknown without a majority
-- column labels: label of each person, in the order of `reviewers`
-- column blind: true if the judges' answers were hidden from all of them
-- column weight: uses that it represents: 1 / (chance to be drawn x share of such draws that were labelled);
--   null outside the sample
WITH contrast AS (SELECT max(treatment) AS treatment, max(control) AS control FROM study),
judges AS (SELECT DISTINCT judge FROM verdicts WHERE NOT starts_with(judge, 'model/')),
people AS (
    SELECT
        event,
        string_agg(label, ' ' ORDER BY reviewer) AS labels,
        string_agg(reviewer, ', ' ORDER BY reviewer) AS reviewers,
        bool_and(blind) AS blind,
        count(*) FILTER (WHERE label = 'yes') AS yes,
        count(*) FILTER (WHERE label = 'no') AS no,
        count(*) FILTER (WHERE label = 'unknown') AS unknown
    FROM current_labels
    GROUP BY event
),
answered AS (
    SELECT s.condition, s.answer, count(*) / nullif(count(p.event), 0) AS drawn_per_label
    FROM label_sample AS s
    LEFT JOIN people AS p ON p.event = s.event
    GROUP BY s.condition, s.answer
)
SELECT
    j.judge,
    r.condition,
    CASE r.condition WHEN k.treatment THEN true WHEN k.control THEN false END AS treated,
    coalesce(r.task, r.run) AS task,
    u.event,
    coalesce(v.label, 'unknown') AS label,
    v.category,
    CASE
        WHEN p.yes > p.no AND p.yes > p.unknown THEN 'yes'
        WHEN p.no > p.yes AND p.no > p.unknown THEN 'no'
        ELSE 'unknown'
    END AS person,
    p.labels,
    p.reviewers,
    p.blind,
    a.drawn_per_label / s.probability AS weight
FROM people AS p
JOIN uses AS u ON u.event = p.event
JOIN runs AS r ON r.run = u.run
CROSS JOIN judges AS j
CROSS JOIN contrast AS k
LEFT JOIN verdicts AS v ON v.event = u.event AND v.judge = j.judge
LEFT JOIN label_sample AS s ON s.event = u.event
LEFT JOIN answered AS a ON a.condition = s.condition AND a.answer = s.answer
ORDER BY j.judge, r.position, task, u.event;
