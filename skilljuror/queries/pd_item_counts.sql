-- question: Is every Progressive Disclosure variant really one?
-- section: RQ1
-- grain: one row is one item of the layout, over all builds
-- columns: item, asks, builds, passed, failed, unanswered, pass_rate
-- params: variant=pd, max_root_lines=300
-- read: The first two items are counted from the files, the third is answered by the layout gate. A
--   build without an answer has not passed.
-- empty: Nothing was built here: `skilljuror build SOURCE --out DIR` makes variants, and
--   `skilljuror ingest --study STUDY` reads those of a study.
-- column unanswered: builds at which no gate has looked
WITH files AS (
    SELECT
        v.build, v.variant,
        max(f.lines) FILTER (WHERE f.resource_class = 'root') AS longest_root,
        count(*) FILTER (WHERE f.resource_class = 'support') AS support
    FROM variants AS v
    LEFT JOIN variant_files AS f ON f.build = v.build AND f.variant = v.variant
    WHERE v.variant = CAST($variant AS VARCHAR)
    GROUP BY ALL
),
named AS (
    SELECT g.build, g.variant, count(f.rule) AS unnamed
    FROM gate_results AS g
    LEFT JOIN findings AS f
        ON f.build = g.build AND f.variant = g.variant AND f.gate = g.gate
        AND f.rule IN ('layout.pd-unnamed', 'layout.pd-cue')
    WHERE g.gate = 'layout'
    GROUP BY ALL
),
items AS (
    SELECT
        'PD-1' AS item, 'no root longer than ' || $max_root_lines || ' lines' AS asks,
        longest_root <= CAST($max_root_lines AS INTEGER) AS passed
    FROM files
    UNION ALL
    SELECT 'PD-2', 'some content that is not code outside the root', support >= 1 FROM files
    UNION ALL
    SELECT
        'PD-3', 'the root names all of it and says when to open it',
        CASE WHEN f.support = 0 THEN false ELSE n.unnamed = 0 END
    FROM files AS f
    LEFT JOIN named AS n USING (build, variant)
)
SELECT
    item,
    asks,
    count(*) AS builds,
    count(*) FILTER (WHERE passed) AS passed,
    count(*) FILTER (WHERE NOT passed) AS failed,
    count(*) FILTER (WHERE passed IS NULL) AS unanswered,
    count(*) FILTER (WHERE passed) / count(*) AS pass_rate
FROM items
GROUP BY item, asks
ORDER BY item;
