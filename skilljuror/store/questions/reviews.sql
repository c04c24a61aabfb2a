-- question: Which decisions did people make?
-- section: overview
-- grain: one row is one reviewer and one question: a finding, a rubric item, or an event
-- columns: kind, build, variant, subject, answer, reason, reviewer, decided_at, blind, stale
-- params: reviewer=null
-- read: Findings and rubric items are about a variant of a build, uptake about an event of a trial. Only a
--   person's last answer to a question counts, unless it was taken back. A decision is stale, and ignored, if
--   its subject has changed.
-- empty: No decisions yet; `skilljuror review STUDY --list` lists the open questions.
-- column subject: id of the finding, name of the rubric item, or id of the event
-- column answer: yes, no, unknown, or the decision on a finding
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
