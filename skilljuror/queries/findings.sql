-- question: What did the gates find?
-- section: RQ1
-- grain: one row is one finding that a variant made itself
-- columns: build, variant, gate, rule, severity, file, line, message, source_text, variant_text,
--   waived, id
-- params: build=null
-- read: Findings that the source already had are inherited by every variant and decide nothing; they
--   are left out here. A finding with words in "waived" decides nothing either; `skilljuror waive STUDY
--   ID --reason …` accepts one.
-- empty: No gate found anything in the variants, or nothing was built here: `skilljuror query STUDY
--   builds` tells which.
SELECT
    build, variant, gate, rule, severity, file, line, message, source_text, variant_text,
    waived, id
FROM findings
WHERE NOT inherited AND (CAST($build AS VARCHAR) IS NULL OR build = CAST($build AS VARCHAR))
ORDER BY build, variant, gate, position;
