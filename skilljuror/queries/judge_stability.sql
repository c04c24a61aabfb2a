-- question: How often does a model say something else when it is asked again?
-- section: RQ3
-- grain: one row is one judge and one way of asking again
-- columns: judge, model, probe, events, askings, changed, changed_share, rate_low, rate_high, entropy
-- read: The same question again (repeat) shows how far the model wavers; with its accesses in another order,
--   or padded with text that says nothing, it shows what should not matter and does.
-- empty: No model was asked twice: `skilljuror judge STUDY --model NAME --repeat 3 --probe order,length` does.
-- column probe: repeat, order or length
-- column events: uses that were asked about so; a question that another order leaves as it was is none
-- column askings: answers to each of them, the first included, on the mean
-- column changed: of the events, those on which not all answers are one
-- column rate_low: lower end of Wilson's 95 % interval of changed_share
-- column rate_high: upper end of the same
-- column entropy: mean Shannon entropy of the answers to one event, bits; 0 where all are alike
WITH askings AS (
    SELECT judge, model, probe, event, label FROM repeated_verdicts
    UNION ALL  -- what a probe is compared with is the first asking
    SELECT p.judge, p.model, p.probe, p.event, f.label
    FROM repeated_verdicts AS p
    JOIN repeated_verdicts AS f
        ON f.judge = p.judge AND f.event = p.event AND f.probe = 'repeat' AND f.repeat = 0
    WHERE p.probe <> 'repeat'
),
said AS (
    SELECT judge, model, probe, event, label, count(*) AS times
    FROM askings
    GROUP BY judge, model, probe, event, label
),
events AS (
    SELECT judge, model, probe, event, sum(times) AS askings, count(*) AS labels, entropy_of(list(times)) AS bits
    FROM said
    GROUP BY judge, model, probe, event
)
SELECT
    judge,
    model,
    probe,
    count(*) AS events,
    avg(askings) AS askings,
    count(*) FILTER (WHERE labels > 1) AS changed,
    count(*) FILTER (WHERE labels > 1) / count(*) AS changed_share,
    wilson_low(count(*) FILTER (WHERE labels > 1), count(*)) AS rate_low,
    wilson_high(count(*) FILTER (WHERE labels > 1), count(*)) AS rate_high,
    avg(bits) AS entropy
FROM events
WHERE askings > 1
GROUP BY judge, model, probe
ORDER BY judge, model, list_position(['repeat', 'order', 'length'], probe);
