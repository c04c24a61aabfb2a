-- question: What does each measure mean, and of how many runs is it known?
-- section: lists
-- grain: one row is one measure
-- columns: metric, definition, unit, level, source, family, keys, known, nulls
-- read: A measure of another package, which `ingest --metric` or the study file named, has the metric that
--   gives it as its family.
-- column unit: flag for 0 or 1
-- column level: what one number is about
-- column source: section of docs/formulas.md, or own
-- column keys: what the sub-keys are; empty for none
-- column known: numbers, those of all sub-keys together
-- column nulls: what could not be computed; question `nulls` says why
SELECT
    m.metric, m.definition, m.unit, m.level, m.source, m.family, m.keys,
    count(v.value) AS known,
    count(v.trial) - count(v.value) AS nulls
FROM metrics AS m
LEFT JOIN measures AS v ON v.metric = m.metric
GROUP BY ALL
ORDER BY m.family, m.metric;
