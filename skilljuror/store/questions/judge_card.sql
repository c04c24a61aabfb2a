-- question: Which judges labelled the uses, and how were they checked?
-- section: RQ3
-- grain: one row is one judge
-- columns: judge, models, prompts, trials, events, judged, coverage, yes, no, unknown, by_proof, by_model,
--   unparsed, unverified_quote, sampled, labelled, labelled_share, blind, reviewers, outside_sample
-- read: A judge is an instrument. An unchecked judge may make the same error every time, and no interval over
--   tasks would show it.
-- empty: No uses, or none judged yet. Judge them with `skilljuror judge STUDY`.
-- null models: these judges use no model
-- null prompts: these judges use no model
-- null reviewers: no person has checked any of these verdicts; `skilljuror review STUDY` asks about a sample
-- column models: models behind its verdicts; null for a judge without one
-- column prompts: number of distinct prompts, and the digest of the first
-- column judged: uses with a verdict of this judge
-- column by_proof: of the judged, yes or no without a model
-- column by_model: of the judged, yes or no by a model
-- column unparsed: of the judged, those without a usable answer of a model
-- column unverified_quote: of the judged, those for which a model's quote is not in the log: unknown, not yes
-- column sampled: uses drawn for people to label
-- column labelled: of the sampled, those that a person labelled
-- column blind: of the labelled, those whose reviewers did not see the judges' answers
-- column outside_sample: uses that a person labelled outside the sample: they correct no rate
WITH judges AS (SELECT DISTINCT judge FROM verdicts WHERE NOT starts_with(judge, 'model/')),
of_all AS (SELECT count(DISTINCT run) AS trials, count(*) AS events FROM uses),
of_judge AS (
    SELECT
        j.judge,
        string_agg(DISTINCT v.model, ', ' ORDER BY v.model) AS models,
        count(DISTINCT v.prompt_sha256) AS prompts,
        min(v.prompt_sha256) AS prompt,
        a.trials,
        a.events,
        coalesce(sum(v.events), 0)::BIGINT AS judged,
        coalesce(sum(v.events) FILTER (v.label = 'yes'), 0)::BIGINT AS yes,
        coalesce(sum(v.events) FILTER (v.label = 'no'), 0)::BIGINT AS no,
        coalesce(sum(v.events) FILTER (v.label = 'unknown'), 0)::BIGINT AS unknown,
        coalesce(sum(v.events) FILTER (v.label <> 'unknown' AND v.model IS NULL), 0)::BIGINT AS by_proof,
        coalesce(sum(v.events) FILTER (v.label <> 'unknown' AND v.model IS NOT NULL), 0)::BIGINT AS by_model,
        coalesce(sum(v.events) FILTER (v.category = 'unparsed'), 0)::BIGINT AS unparsed,
        coalesce(sum(v.events) FILTER (v.category = 'unverified_quote'), 0)::BIGINT AS unverified_quote
    FROM judges AS j
    JOIN of_all AS a ON a.events > 0
    LEFT JOIN judged_uses AS v ON v.judge = j.judge
    GROUP BY j.judge, a.trials, a.events
),
people AS (
    SELECT l.event, bool_and(l.blind) AS blind, any_value(s.event) IS NOT NULL AS sampled
    FROM current_labels AS l
    JOIN uses AS u ON u.event = l.event
    LEFT JOIN label_sample AS s ON s.event = l.event
    GROUP BY l.event
),
checked AS (
    SELECT
        (SELECT count(*) FROM label_sample) AS sampled,
        count(*) FILTER (WHERE sampled) AS labelled,
        count(*) FILTER (WHERE blind AND sampled) AS blind,
        count(*) FILTER (WHERE NOT sampled) AS outside_sample,
        (SELECT string_agg(DISTINCT reviewer, ', ' ORDER BY reviewer) FROM current_labels) AS reviewers
    FROM people
)
SELECT
    o.judge,
    o.models,
    if(o.prompts = 0, NULL, o.prompts || ' (' || o.prompt[:12] || if(o.prompts > 1, ' …)', ')')) AS prompts,
    o.trials,
    o.events,
    o.judged,
    o.judged / o.events AS coverage,
    o.yes,
    o.no,
    o.unknown,
    o.by_proof,
    o.by_model,
    o.unparsed,
    o.unverified_quote,
    c.sampled,
    c.labelled,
    c.labelled / nullif(c.sampled, 0) AS labelled_share,
    c.blind,
    c.reviewers,
    c.outside_sample
FROM of_judge AS o
CROSS JOIN checked AS c
ORDER BY o.judge;
