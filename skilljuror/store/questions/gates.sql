-- question: Did the variants pass the gates?
-- section: RQ1
-- grain: one row is one gate and one variant, over all builds
-- columns: gate, variant, builds, passed, review, failed, compared, waived,
--   pass_rate, pass_rate_reason
-- read: "review" means that a person must review the variant before it is run. A gate that compared nothing
--   proves nothing and has no rate; `compared` shows how much each gate checked.
-- empty: No builds. `skilljuror build SOURCE --out DIR` builds variants; `skilljuror ingest --study STUDY`
--   reads those of a study.
-- column compared: total comparisons
-- column waived: variants whose verdict depends on a waiver
-- column pass_rate: variants with verdict pass / builds; null if the gate compared nothing
WITH counts AS (
    SELECT
        gate,
        variant,
        count(*) AS builds,
        count(*) FILTER (WHERE verdict = 'pass') AS passed,
        count(*) FILTER (WHERE verdict = 'review') AS review,
        count(*) FILTER (WHERE verdict = 'fail') AS failed,
        CAST(sum(coalesce(list_sum(map_values(checked)), 0)) AS BIGINT) AS compared  -- an empty map: none
    FROM gate_results
    GROUP BY gate, variant
),
by_people AS (
    SELECT f.gate, f.variant, count(DISTINCT f.build) AS waived
    FROM findings AS f JOIN waivers AS w ON w.build = f.build AND w.finding = f.id
    WHERE NOT w.stale AND NOT f.inherited
    GROUP BY ALL
)
SELECT
    counts.*,
    coalesce(waived, 0) AS waived,
    if(compared = 0, NULL, passed / builds) AS pass_rate,
    if(compared = 0, 'compared nothing', NULL) AS pass_rate_reason
FROM counts LEFT JOIN by_people USING (gate, variant)
ORDER BY gate, variant;
