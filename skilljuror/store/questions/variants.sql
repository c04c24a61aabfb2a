-- question: How do the variants of a build differ in layout and size?
-- section: RQ1
-- grain: one row is one variant of a build; the source is the row without a parent
-- columns: build, variant, parent, skills, files, support_files, code_files, tokens,
--   tokens_of_source, root_lines, root_tokens, root_share, verdict, layers, waivers, feasibility
-- read: Variants of one build contain the same knowledge, so their tokens should be close; they differ in the
--   share of it that is in the root.
-- empty: No builds. `skilljuror build SOURCE --out DIR` builds variants; `skilljuror ingest --study STUDY`
--   reads those of a study.
-- column tokens_of_source: tokens of the variant / tokens of the source
-- column root_share: tokens of the SKILL.md files / all tokens
-- column layers: basis of the verdict: deterministic gates, the rubric by a model, people
-- column waivers: reviewers whose waivers the verdict depends on
-- column feasibility: whether a flat file fits into one read
SELECT
    v.build, v.variant, v.parent,
    len(v.skills) AS skills,
    count(f.path) AS files,
    count(*) FILTER (WHERE f.resource_class = 'support') AS support_files,
    count(*) FILTER (WHERE f.resource_class = 'code') AS code_files,
    v.tokens,
    v.tokens / nullif(s.tokens, 0) AS tokens_of_source,
    v.root_lines, v.root_tokens,
    v.root_tokens / nullif(v.tokens, 0) AS root_share,
    v.verdict, v.layers, v.waivers, v.feasibility
FROM variants AS v
LEFT JOIN variants AS s ON s.build = v.build AND s.parent IS NULL
LEFT JOIN variant_files AS f ON f.build = v.build AND f.variant = v.variant
GROUP BY
    v.build, v.variant, v.parent, v.skills, v.tokens, s.tokens, v.root_lines, v.root_tokens,
    v.verdict, v.layers, v.waivers, v.feasibility
ORDER BY v.build, v.parent IS NOT NULL, v.variant;
