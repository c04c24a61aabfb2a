-- question: How often does a model say something else when it is asked again?
-- section: RQ3
-- grain: one row is one judge and one way of asking again
-- columns: judge, model, probe, events, askings, changed, changed_share, rate_low, rate_high, entropy,
--   unparsed
-- read: The same question again (repeat) shows how far the model wavers; with its accesses in another order,
--   or padded with text that says nothing, it shows what should not matter and does.
-- empty: No model was asked twice: `skilljuror judge STUDY --model NAME --repeat 3 --probe order,length` does.
-- column probe: repeat, order or length
-- column events: uses that were asked about so and have two usable answers; one that is alone in all
--   its questions has no other order
-- column askings: usable answers to each of them, the first included, on the mean
-- column changed: of the events, those on which not all usable answers are one
-- column rate_low: lower end of Wilson's 95 % interval of changed_share
-- column rate_high: upper end of the same
-- column entropy: mean Shannon entropy of the usable answers to one event, bits; 0 where all are alike
-- column unparsed: answers to this way of asking that could not be used: no opinion, so no change of one
WITH usable AS (SELECT * FROM repeated_verdicts WHERE category <> 'unparsed'),
askings AS (
    SELECT judge, model, probe, event, label FROM usable
    UNION ALL  -- what a probe is compared with is the first asking
    SELECT p.judge, p.model, p.probe, p.event, f.label
    FROM usable AS p
    JOIN usable AS f ON f.judge = p.judge AND f.event = p.event AND f.probe = 'repeat' AND f.repeat = 0
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
    HAVING sum(times) > 1
),
ways AS (
    SELECT judge, model, probe, count(*) FILTER (WHERE category = 'unparsed') AS unparsed
    FROM repeated_verdicts
    GROUP BY judge, model, probe
    HAVING probe <> 'repeat' OR max(repeat) > 0
)
SELECT
    w.judge,
    w.model,
    w.probe,
    count(e.event) AS events,
    avg(e.askings) AS askings,
    count(*) FILTER (WHERE e.labels > 1) AS changed,
    count(*) FILTER (WHERE e.labels > 1) / nullif(count(e.event), 0) AS changed_share,
    wilson_low(count(*) FILTER (WHERE e.labels > 1), count(e.event)) AS rate_low,
    wilson_high(count(*) FILTER (WHERE e.labels > 1), count(e.event)) AS rate_high,
    avg(e.bits) AS entropy,
    w.unparsed
FROM ways AS w
LEFT JOIN events AS e ON e.judge = w.judge AND e.model = w.model AND e.probe = w.probe
GROUP BY w.judge, w.model, w.probe, w.unparsed
ORDER BY w.judge, w.model, list_position(['repeat', 'order', 'length'], w.probe);
