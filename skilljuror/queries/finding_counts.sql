-- question: Which rules were broken, and how often?
-- section: RQ1
-- grain: one row is one rule and one variant, over all builds
-- columns: gate, rule, severity, variant, findings, builds, inherited,
--   waived
-- empty: No gate found anything in the variants, or nothing was built here: `skilljuror query STUDY
--   builds` tells which.
-- column findings: findings that the variants made themselves
-- column inherited: findings that the source already had
-- column waived: findings of the variants that decide nothing, by a waiver or a control's declaration
SELECT
    gate, rule, severity, variant,
    count(*) FILTER (WHERE NOT inherited) AS findings,
    count(DISTINCT build) AS builds,
    count(*) FILTER (WHERE inherited) AS inherited,
    count(*) FILTER (WHERE NOT inherited AND waived IS NOT NULL) AS waived
FROM findings
GROUP BY gate, rule, severity, variant
ORDER BY gate, severity, rule, variant;
