-- question: How do the layouts differ in size?
-- section: RQ1
-- grain: one row is one variant, over all builds
-- columns: variant, builds, tokens, tokens_of_source, root_share, root_lines, root_lines_max,
--   support_files, passed, over_limit
-- read: Variants contain the same knowledge, so their tokens should be close to the source's; they differ in
--   the share of it that is in the root.
-- empty: No builds. `skilljuror build SOURCE --out DIR` builds variants; `skilljuror ingest --study STUDY`
--   reads those of a study.
-- column tokens: mean tokens of all text
-- column tokens_of_source: mean over builds of tokens of the variant / tokens of the source
-- column root_share: mean over builds of tokens of the SKILL.md files / all tokens
-- column root_lines: median lines of the SKILL.md files
-- column root_lines_max: the longest
-- column support_files: mean number of supporting files
-- column passed: builds in which it passed every gate; null for the source and for a Skill offered unchanged,
--   which are not checked
-- column over_limit: builds whose flat file is too large for one read or one context
WITH files AS (
    SELECT build, variant, count(*) FILTER (WHERE resource_class = 'support') AS support
    FROM variant_files GROUP BY ALL
)
SELECT
    v.variant,
    count(*) AS builds,
    avg(v.tokens) AS tokens,
    avg(v.tokens / nullif(s.tokens, 0)) AS tokens_of_source,
    avg(v.root_tokens / nullif(v.tokens, 0)) AS root_share,
    median(v.root_lines) AS root_lines,
    max(v.root_lines) AS root_lines_max,
    avg(coalesce(f.support, 0)) AS support_files,  -- a variant without a file row has no file: zero
    if(bool_and(v.parent IS NULL OR v.parent = 'given'), NULL, count(*) FILTER (WHERE v.verdict = 'pass')) AS passed,
    count(*) FILTER (WHERE v.feasibility IN ('over_read_limit', 'over_context')) AS over_limit
FROM variants AS v
LEFT JOIN variants AS s ON s.build = v.build AND s.parent IS NULL
LEFT JOIN files AS f ON f.build = v.build AND f.variant = v.variant
GROUP BY v.variant
ORDER BY bool_and(v.parent IS NULL) DESC, v.variant;
