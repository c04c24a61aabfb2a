-- question: Which rules were violated, and how often?
-- section: RQ1
-- grain: one row is one rule and one variant, over all builds
-- columns: gate, rule, severity, variant, findings, builds, inherited,
--   waived
-- empty: No builds, or no findings in them; `skilljuror query STUDY builds` lists the builds.
-- column findings: findings introduced by the variants
-- column inherited: findings that the source already had
-- column waived: findings ignored because of a waiver or a control's declaration
SELECT
    gate, rule, severity, variant,
    count(*) FILTER (WHERE NOT inherited) AS findings,
    count(DISTINCT build) AS builds,
    count(*) FILTER (WHERE inherited) AS inherited,
    count(*) FILTER (WHERE NOT inherited AND waived IS NOT NULL) AS waived
FROM findings
GROUP BY gate, rule, severity, variant
ORDER BY gate, severity, rule, variant;
