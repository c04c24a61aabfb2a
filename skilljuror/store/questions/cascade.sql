-- question: What did a model decide that proof could not, and how much did it cost?
-- section: RQ3
-- grain: one row is one cascade: a judge without a model first, then a model
-- columns: judge, events, decided_free, decided_by_model, unknown, share_free, share_by_model,
--   share_unknown, asked, calls, insufficient_context, unverified_quote, unparsed, unparsed_share,
--   not_asked, rechecked, rechecked_yes, rechecked_no, agreement, usd_spent, usd_per_asked,
--   usd_saved_estimate
-- params: judge=null
-- read: Proof costs nothing; a model was asked about the rest. Its yes counts only if both its quotes are in
--   the log. The agreement is the share of a sample of proved yes, drawn by digest, to which the model also
--   says yes.
-- empty: No model was asked. Ask one with `skilljuror judge STUDY --model NAME`.
-- null usd_spent: the price of the model is unknown, or its server did not report tokens
-- column events: events with a verdict
-- column decided_free: yes or no from the judge without a model
-- column decided_by_model: yes or no from the model
-- column unknown: labelled by neither
-- column asked: events that the model was asked about, the sample included
-- column calls: answers of the model, including unusable ones and the sample; an answer shared by two runs
--   with the same log counts twice
-- column insufficient_context: of the asked, those that the model could not decide from the log
-- column unverified_quote: of the asked, a yes of the model that became unknown because one of its quotes is
--   not in the log
-- column unparsed: of the asked, those without a usable answer after all retries
-- column not_asked: unknown that a model could not decide either: nothing was shown, or nothing followed
-- column rechecked: yes of the first judge that the model was also asked about
-- column agreement: rechecked_yes / (rechecked_yes + rechecked_no)
-- column usd_spent: cost of all answers when they were bought, in US dollars, including the sample
-- column usd_per_asked: the cost without the sample / events asked outside it
-- column usd_saved_estimate: decided_free x usd_per_asked: estimated cost of asking about these events as
--   well
WITH cascades AS (
    SELECT
        judge,
        regexp_extract(judge, '^cascade/\d+ \(.*, (.*)\)$', 1) AS named,
        count(*) AS events,
        count(*) FILTER (WHERE label <> 'unknown' AND model IS NULL) AS decided_free,
        count(*) FILTER (WHERE label <> 'unknown' AND model IS NOT NULL) AS decided_by_model,
        count(*) FILTER (WHERE label = 'unknown') AS unknown,
        count(model) AS asked,
        count(*) FILTER (WHERE category = 'insufficient_context') AS insufficient_context,
        count(*) FILTER (WHERE category = 'unverified_quote') AS unverified_quote,
        count(*) FILTER (WHERE category = 'unparsed') AS unparsed,
        count(*) FILTER (WHERE label = 'unknown' AND model IS NULL) AS not_asked
    FROM verdicts
    WHERE starts_with(judge, 'cascade/')
        AND (CAST($judge AS VARCHAR) IS NULL OR judge = CAST($judge AS VARCHAR))
    GROUP BY judge
),
rechecked AS (
    SELECT
        c.judge,
        count(*) AS events,
        count(*) FILTER (WHERE m.label = 'yes') AS yes,
        count(*) FILTER (WHERE m.label = 'no') AS no,
        count(*) FILTER (WHERE m.category = 'insufficient_context') AS insufficient_context,
        count(*) FILTER (WHERE m.category = 'unverified_quote') AS unverified_quote,
        count(*) FILTER (WHERE m.category = 'unparsed') AS unparsed
    FROM cascades AS c
    JOIN verdicts AS v ON v.judge = c.judge AND v.label = 'yes' AND v.model IS NULL
    JOIN verdicts AS m ON m.event = v.event AND m.model = c.named AND starts_with(m.judge, 'model/')
    GROUP BY c.judge
),
answered AS (
    SELECT
        c.judge,
        c.asked + coalesce(r.events, 0) AS asked,
        c.insufficient_context + coalesce(r.insufficient_context, 0) AS insufficient_context,
        c.unverified_quote + coalesce(r.unverified_quote, 0) AS unverified_quote,
        c.unparsed + coalesce(r.unparsed, 0) AS unparsed
    FROM cascades AS c
    LEFT JOIN rechecked AS r ON r.judge = c.judge
),
took AS (
    SELECT
        c.judge,
        sum(j.calls) AS calls,
        if(count(*) = count(j.cost_usd), sum(j.cost_usd), NULL) AS spent,
        if(
            count(*) = count(j.cost_usd),
            coalesce(sum(j.cost_usd) FILTER (WHERE j.judge = c.judge), 0),
            NULL
        ) AS spent_on_asked
    FROM cascades AS c
    JOIN judge_calls AS j
        ON j.judge = c.judge OR (j.model = c.named AND starts_with(j.judge, 'model/'))
    GROUP BY c.judge
)
SELECT
    c.judge,
    c.events,
    c.decided_free,
    c.decided_by_model,
    c.unknown,
    c.decided_free / c.events AS share_free,
    c.decided_by_model / c.events AS share_by_model,
    c.unknown / c.events AS share_unknown,
    a.asked,
    CAST(coalesce(t.calls, 0) AS BIGINT) AS calls,
    a.insufficient_context,
    a.unverified_quote,
    a.unparsed,
    a.unparsed / nullif(a.asked, 0) AS unparsed_share,
    c.not_asked,
    coalesce(r.events, 0) AS rechecked,
    coalesce(r.yes, 0) AS rechecked_yes,
    coalesce(r.no, 0) AS rechecked_no,
    r.yes / nullif(r.yes + r.no, 0) AS agreement,
    if(t.calls IS NULL, 0, t.spent) AS usd_spent,
    t.spent_on_asked / nullif(c.asked, 0) AS usd_per_asked,
    c.decided_free * t.spent_on_asked / nullif(c.asked, 0) AS usd_saved_estimate
FROM cascades AS c
JOIN answered AS a ON a.judge = c.judge
LEFT JOIN rechecked AS r ON r.judge = c.judge
LEFT JOIN took AS t ON t.judge = c.judge
ORDER BY c.judge;
