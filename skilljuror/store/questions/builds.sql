-- question: Which builds exist, and can their variants be compared?
-- section: RQ1
-- grain: one row is one build
-- columns: build, engine, variants, verdict, source_tokens, source_root_lines, tokenizer, findings,
--   waived, decided, stale
-- empty: No builds. `skilljuror build SOURCE --out DIR` builds variants; `skilljuror ingest --study STUDY`
--   reads those of a study.
-- column verdict: worst verdict of its gates: pass, review (a person must look) or fail
-- column findings: findings introduced by the variants, not inherited from the source
-- column waived: findings that a person accepted
-- column decided: flagged findings and rubric items that reviewers resolved
-- column stale: waivers and decisions whose subject has changed or is missing
SELECT
    b.build,
    b.engine,
    count(v.variant) FILTER (WHERE v.parent IS NOT NULL) AS variants,
    CASE
        WHEN bool_or(v.verdict = 'fail') THEN 'fail'
        WHEN bool_or(v.verdict = 'review') THEN 'review'
        WHEN bool_or(v.verdict = 'pass') THEN 'pass'
    END AS verdict,
    max(v.tokens) FILTER (WHERE v.parent IS NULL) AS source_tokens,
    max(v.root_lines) FILTER (WHERE v.parent IS NULL) AS source_root_lines,
    b.tokenizer,
    (SELECT count(*) FROM findings AS f
        WHERE f.build = b.build AND NOT f.inherited AND f.severity <> 'info') AS findings,
    (SELECT count(*) FROM waivers AS w WHERE w.build = b.build AND NOT w.stale) AS waived,
    (
        SELECT count(DISTINCT (d.kind, d.variant, d.subject)) FROM decisions AS d
        WHERE d.build = b.build AND NOT d.stale
    ) AS decided,
    (SELECT count(*) FROM waivers AS w WHERE w.build = b.build AND w.stale)
        + (SELECT count(*) FROM decisions AS d WHERE d.build = b.build AND d.stale) AS stale
FROM builds AS b
LEFT JOIN variants AS v ON v.build = b.build AND v.parent IS DISTINCT FROM 'given'
GROUP BY b.build, b.engine, b.tokenizer
ORDER BY b.build;
