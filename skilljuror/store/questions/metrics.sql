-- question: What does each measure mean, and how many runs have a value?
-- section: lists
-- grain: one row is one measure
-- columns: metric, definition, unit, level, source, family, keys, known, nulls
-- read: The family of a measure from another package (`ingest --metric` or the study file) is the metric that
--   computes it.
-- column unit: unit; flag is 0 or 1
-- column level: record that one number describes
-- column source: section of docs/formulas.md, or own
-- column keys: meaning of the sub-keys; empty without sub-keys
-- column known: number of values, over all sub-keys
-- column nulls: number of missing values; question `nulls` gives the reasons
SELECT
    m.metric, m.definition, m.unit, m.level, m.source, m.family, m.keys,
    count(v.value) AS known,
    count(v.trial) - count(v.value) AS nulls
FROM metrics AS m
LEFT JOIN measures AS v ON v.metric = m.metric
GROUP BY ALL
ORDER BY m.family, m.metric;
