-- question: How often does a model change its answer when it is asked again?
-- section: RQ3
-- grain: one row is one judge and one probe (way of asking again)
-- columns: judge, model, probe, events, askings, changed, changed_share, rate_low, rate_high, entropy,
--   unparsed
-- read: Asking the same question again (repeat) measures the model's randomness. Another order of the
--   accesses (order) and neutral padding (length) should not matter; a change there is a bias.
-- empty: No model was asked twice. Use `skilljuror judge STUDY --model NAME --repeat 3 --probe order,length`.
-- column probe: repeat, order or length
-- column events: uses with two usable answers under this probe; a use that is alone in all its questions has
--   no other order
-- column askings: mean usable answers per use, including the first
-- column changed: of the events, those whose usable answers differ
-- column rate_low: lower end of Wilson's 95 % interval of changed_share, as if all uses were independent: too
--   narrow where those of one task are alike
-- column rate_high: upper end of the same interval
-- column entropy: mean Shannon entropy of the usable answers to one event, bits; 0 if all are equal
-- column unparsed: unusable answers under this probe; they do not count as a change
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
