-- question: How often do two judges, two people, or a judge and a person agree?
-- section: lists
-- grain: one row is one pair of raters, task and pair of labels
-- columns: first, second, by_person, task, first_label, second_label, events, weight
-- read: Verdicts that a cascade copies from the judge before it are compared with people only: comparing them
--   with a judge would measure no agreement.
-- empty: No use was labelled twice. `skilljuror review STUDY` asks people; `skilljuror judge STUDY --model`
--   asks a model.
-- column by_person: number of people in the pair
-- column task: the task; for a foreign run without a harness trial, the run
-- column weight: number of uses that these represent, by their chance to be drawn for people; the number of
--   events between two judges and outside the sample
WITH answered AS (
    SELECT s.condition, s.answer, count(*) / nullif(count(l.event), 0) AS drawn_per_label
    FROM label_sample AS s
    LEFT JOIN (SELECT DISTINCT event FROM current_labels) AS l ON l.event = s.event
    GROUP BY s.condition, s.answer
),
raters AS (
    SELECT judge AS rater, 0 AS person, event, label, starts_with(judge, 'cascade/') AND model IS NULL AS copied
    FROM verdicts
    WHERE (SELECT count(DISTINCT judge) > 1 FROM verdicts) OR event IN (SELECT event FROM current_labels)
    UNION ALL
    SELECT reviewer, 1, event, label, false FROM current_labels
),
pairs AS (
    SELECT
        a.rater AS first,
        b.rater AS second,
        a.person + b.person AS by_person,
        a.event,
        a.label AS first_label,
        b.label AS second_label
    FROM raters AS a
    JOIN raters AS b ON b.event = a.event AND (a.person, a.rater) < (b.person, b.rater)
    WHERE b.person = 1 OR NOT (a.copied OR b.copied)
)
SELECT
    p.first,
    p.second,
    p.by_person,
    coalesce(r.task, r.run) AS task,
    p.first_label,
    p.second_label,
    count(*) AS events,
    sum(if(p.by_person = 0, 1, coalesce(a.drawn_per_label / s.probability, 1))) AS weight
FROM pairs AS p
JOIN uses AS u ON u.event = p.event
JOIN runs AS r ON r.run = u.run
LEFT JOIN label_sample AS s ON s.event = p.event
LEFT JOIN answered AS a ON a.condition = s.condition AND a.answer = s.answer
GROUP BY p.first, p.second, p.by_person, coalesce(r.task, r.run), p.first_label, p.second_label
ORDER BY p.by_person DESC, p.first, p.second, task, p.first_label, p.second_label;
