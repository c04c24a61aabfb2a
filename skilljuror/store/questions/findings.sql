-- question: What did the gates find?
-- section: RQ1
-- grain: one row is one finding introduced by a variant
-- columns: build, variant, gate, rule, severity, file, line, message, source_text, variant_text,
--   waived, id
-- params: build=null
-- read: Findings inherited from the source are ignored and left out here. A finding with a text in `waived`
--   is ignored too; `skilljuror waive STUDY ID --reason …` accepts one.
-- empty: No builds, or no findings in them; `skilljuror query STUDY builds` lists the builds.
SELECT
    build, variant, gate, rule, severity, file, line, message, source_text, variant_text,
    waived, id
FROM findings
WHERE NOT inherited AND (CAST($build AS VARCHAR) IS NULL OR build = CAST($build AS VARCHAR))
ORDER BY build, variant, gate, position;
