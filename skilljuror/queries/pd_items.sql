-- question: Which Progressive Disclosure variants fail which item?
-- section: RQ1
-- grain: one row is one item and one build with a variant of that layout
-- columns: build, variant, item, passed, detail
-- params: variant=pd, max_root_lines=300
-- read: PD-1: no root longer than 300 lines. PD-2: some content that is not code stands outside the
--   root. PD-3: the root names all of it and says when to open it; without PD-2 there is no PD-3.
-- empty: Nothing was built here: `skilljuror build SOURCE --out DIR` makes variants, and
--   `skilljuror ingest --study STUDY` reads those of a study.
-- column passed: null where no gate has looked
-- column detail: the number the answer rests on
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
    SELECT
        g.build, g.variant,
        count(f.rule) AS unnamed
    FROM gate_results AS g
    LEFT JOIN findings AS f
        ON f.build = g.build AND f.variant = g.variant AND f.gate = g.gate
        AND f.rule IN ('layout.pd-unnamed', 'layout.pd-cue')
    WHERE g.gate = 'layout'
    GROUP BY ALL
),
items AS (
    SELECT
        build, variant, 'PD-1' AS item,
        longest_root <= CAST($max_root_lines AS INTEGER) AS passed,
        'lines of the longest root: ' || longest_root AS detail
    FROM files
    UNION ALL
    SELECT build, variant, 'PD-2', support >= 1, 'supporting files: ' || support FROM files
    UNION ALL
    SELECT
        f.build, f.variant, 'PD-3',
        CASE WHEN f.support = 0 THEN false ELSE n.unnamed = 0 END,
        CASE
            WHEN f.support = 0 THEN 'nothing to name'
            ELSE 'supporting files not named with a cue: ' || n.unnamed
        END
    FROM files AS f
    LEFT JOIN named AS n USING (build, variant)
)
SELECT build, variant, item, passed, detail FROM items
ORDER BY build, variant, item;
