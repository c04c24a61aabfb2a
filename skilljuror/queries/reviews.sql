-- question: What did people decide, and who?
-- section: overview
-- grain: one row is one person and one question: a finding, an item of a rubric, or an event
-- columns: kind, build, variant, subject, answer, reason, reviewer, decided_at, blind, stale
-- params: reviewer=null
-- read: Findings and items of a rubric are about a variant of a build, uptake about an event of a trial.
--   A person counts once a question, with their last answer that was not taken back. A decision is stale
--   once what it was about changed; it decides nothing then.
-- empty: Nobody has decided anything yet: `skilljuror review STUDY --list` tells what waits for a person.
-- column subject: id of the finding, name of the rubric's item, or id of the event
-- column answer: yes, no, unknown, or how a flagged construction was settled
SELECT
    kind, build, variant, subject, answer, reason, reviewer, decided_at, blind, stale
FROM (
    SELECT kind, build, variant, subject, answer, reason, reviewer, decided_at, blind, stale
    FROM decisions
    UNION ALL
    SELECT
        'uptake', NULL, NULL, l.event, l.label, l.reason, l.reviewer, l.labelled_at, l.blind,
        c.event IS NULL
    FROM labels AS l
    LEFT JOIN current_labels AS c ON c.event = l.event AND c.reviewer = l.reviewer
)
WHERE CAST($reviewer AS VARCHAR) IS NULL OR reviewer = CAST($reviewer AS VARCHAR)
ORDER BY kind, build, variant, subject, reviewer;
