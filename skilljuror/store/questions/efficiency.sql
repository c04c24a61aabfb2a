-- question: What does an attempt, a success and a strict pass cost?
-- section: RQ2
-- grain: one row is one condition and one resource (time, display tokens, cost)
-- columns: condition, resource, unit, planned, measured, coverage, passes, total, attempt,
--   attempt_reason, success, success_reason, yield, yield_reason, yield_at_least, price_dates
-- arms: condition
-- whole: success, yield, yield_at_least
-- params: tasks=null
-- read: `attempt` is the mean over trials, `success` the mean over passing trials, and `yield` the cost of
--   one strict pass including the failed attempts. A condition can be cheaper per attempt and more expensive
--   per pass.
-- empty: No planned trials. `skilljuror run` with a study file plans and runs them. For foreign logs,
--   `skilljuror query STUDY trajectories` shows minutes and tokens of each run.
-- column measured: usable trials with a known value; the others are unknown, not zero
-- column total: sum over the measured trials
-- column attempt: total / measured trials
-- column success: mean over strict passes; null unless every one of them was measured
-- column yield: total / strict passes; null unless every planned trial was measured
-- column yield_at_least: total / strict passes at any coverage: a lower bound
-- column price_dates: dates of the list prices behind the cost, YYYY-MM-DD; null for other resources
-- column attempt_reason: reason for a missing value, from the metric
WITH kinds (place, resource, metric, unit) AS (
    VALUES
        (1, 'time', 'agent_minutes', 'minutes'),
        (2, 'display tokens', 'display_tokens', 'tokens'),
        (3, 'cost', 'cost_usd', 'USD')
),
cells AS (
    SELECT
        r.condition,
        r.position,
        k.place,
        k.resource,
        k.unit,
        r.strict,
        m.value,
        coalesce(r.unusable, if(m.trial IS NULL, 'missing', m.reason)) AS reason,
        if(
            k.metric = 'cost_usd',
            strftime(strptime(CAST(CAST(d.value AS INTEGER) AS VARCHAR), '%Y%m%d'), '%Y-%m-%d'),
            NULL
        ) AS price_date
    FROM arm_runs AS r
    CROSS JOIN kinds AS k
    LEFT JOIN measures AS m ON r.usable AND m.trial = r.run AND m.metric = k.metric AND m.key = ''
    LEFT JOIN measures AS d ON r.usable AND d.trial = r.run AND d.metric = 'price_date' AND d.key = ''
    WHERE r.status <> 'observed'
        AND (CAST($tasks AS VARCHAR) IS NULL OR list_contains(string_split(CAST($tasks AS VARCHAR), ' '), r.task))
),
sums AS (
    SELECT
        condition,
        position,
        place,
        resource,
        unit,
        count(*) AS planned,
        count(value) AS measured,
        CAST(sum(strict::INTEGER) AS BIGINT) AS passes,
        count(value) FILTER (WHERE strict) AS measured_passes,
        sum(value) AS total,
        sum(value) FILTER (WHERE strict) AS total_of_passes,
        string_agg(DISTINCT price_date, ', ' ORDER BY price_date) AS price_dates,
        string_agg(DISTINCT reason, ', ' ORDER BY reason) AS reasons,
        string_agg(DISTINCT reason, ', ' ORDER BY reason) FILTER (WHERE strict) AS pass_reasons
    FROM cells
    GROUP BY ALL
)
SELECT
    condition,
    resource,
    unit,
    planned,
    measured,
    measured / planned AS coverage,
    passes,
    total,
    total / nullif(measured, 0) AS attempt,  -- over measured trials, with their coverage (A-43)
    if(measured = 0, reasons, NULL) AS attempt_reason,
    if(measured_passes = passes, total_of_passes / nullif(passes, 0), NULL) AS success,
    CASE
        WHEN passes IS NULL THEN 'no_verifier'
        WHEN passes = 0 THEN 'zero_passes'  -- never 0 or infinite (A-16)
        WHEN measured_passes < passes THEN pass_reasons
    END AS success_reason,
    if(measured = planned, total / nullif(passes, 0), NULL) AS yield,
    CASE
        WHEN measured = 0 THEN reasons
        WHEN passes IS NULL THEN 'no_verifier'
        WHEN passes = 0 THEN 'zero_passes'
        WHEN measured < planned THEN reasons || ' in ' || (planned - measured) || ' of ' || planned
    END AS yield_reason,
    total / nullif(passes, 0) AS yield_at_least,
    price_dates
FROM sums
ORDER BY place, position;
