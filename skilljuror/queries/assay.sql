-- question: Which kinds of planted change do the gates catch?
-- section: RQ1
-- grain: one row is one kind of change, under one policy
-- columns: policy, kind, mutation, planted, equivalent, flagged, failed, flagged_rate,
--   flagged_rate_reason, rate_low, rate_high
-- read: A kind that does not apply to these texts could not be planted; this says nothing about the gates.
-- empty: No changes were planted into these builds. Use `skilljuror assay STUDY --keep`, or `build: {assay:
--   2}` in the study file of the next run.
-- column kind: drift changes what an agent must do, a harmless edit does not
-- column mutation: the change, one at a time; none: the unchanged variant, checked again
-- column planted: changes made and checked
-- column equivalent: changes left out because the text is the same without white space, list markers and
--   emphasis
-- column flagged: verdict review or fail
-- column rate_low: lower end of Wilson's 95 % interval, all changes weighted equally
-- column rate_high: upper end of the same interval
WITH counts AS (
    SELECT
        policy, drift, mutation,
        CAST(sum(planted) AS BIGINT) AS planted,
        CAST(sum(equivalent) AS BIGINT) AS equivalent,
        CAST(sum(flagged) AS BIGINT) AS flagged,
        CAST(sum(failed) AS BIGINT) AS failed
    FROM assays GROUP BY policy, drift, mutation
)
SELECT
    policy,
    if(drift, 'drift', 'harmless') AS kind,
    mutation, planted, equivalent, flagged, failed,
    flagged / nullif(planted, 0) AS flagged_rate,
    if(planted = 0, 'not applicable to these texts', NULL) AS flagged_rate_reason,
    wilson_low(flagged, planted) AS rate_low,
    wilson_high(flagged, planted) AS rate_high
FROM counts
ORDER BY policy, kind, mutation;
