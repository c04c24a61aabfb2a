-- question: Did the variants pass the gates?
-- section: RQ1
-- grain: one row is one gate and one variant, over all builds
-- columns: gate, variant, builds, passed, review, failed, compared, pass_rate
-- read: "review" means that a person must look before the variant is run. A gate that compared nothing
--   proves nothing, so the number of comparisons stands beside the verdicts.
-- column compared: things compared in all, so that silence can be weighed
SELECT
    gate,
    variant,
    count(*) AS builds,
    count(*) FILTER (WHERE verdict = 'pass') AS passed,
    count(*) FILTER (WHERE verdict = 'review') AS review,
    count(*) FILTER (WHERE verdict = 'fail') AS failed,
    CAST(sum(coalesce(list_sum(map_values(checked)), 0)) AS BIGINT) AS compared,  -- an empty map: none
    count(*) FILTER (WHERE verdict = 'pass') / count(*) AS pass_rate
FROM gate_results
GROUP BY gate, variant
ORDER BY gate, variant;
