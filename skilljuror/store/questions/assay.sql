-- question: Which kinds of planted change do the gates catch?
-- section: RQ1
-- grain: one row is one kind of change, under one policy
-- columns: policy, kind, mutation, planted, equivalent, flagged, failed, flagged_rate,
--   flagged_rate_reason, sources, rate_low, rate_low_reason, rate_high
-- read: A kind that does not apply to these texts could not be planted; this says nothing about the gates.
-- empty: No changes were planted into these builds. Use `skilljuror assay STUDY --keep`, or `build: {assay:
--   2}` in the study file of the next run.
-- column kind: drift changes what an agent must do, a harmless edit does not
-- column mutation: the change, one at a time; none: the unchanged variant, checked again
-- column planted: changes made and checked
-- column equivalent: changes left out because the text is the same without white space, list markers and
--   emphasis
-- column flagged: verdict review or fail
-- column sources: sources with such a change; those of one source are alike, so the interval is over sources
-- column rate_low: lower end of the 95 % interval, by a jackknife of the log odds over sources
-- column rate_low_reason: why there is no interval
-- column rate_high: upper end of the same interval
WITH by_source AS (
    SELECT
        policy, drift, mutation, source_digest,
        sum(planted) AS planted, sum(equivalent) AS equivalent, sum(flagged) AS flagged, sum(failed) AS failed
    FROM assays JOIN builds USING (build) GROUP BY ALL
),
counts AS (
    SELECT
        policy, drift, mutation,
        CAST(sum(planted) AS BIGINT) AS planted,
        CAST(sum(equivalent) AS BIGINT) AS equivalent,
        CAST(sum(flagged) AS BIGINT) AS flagged,
        CAST(sum(failed) AS BIGINT) AS failed,
        coalesce(list(flagged ORDER BY source_digest) FILTER (WHERE planted > 0), []) AS caught,
        coalesce(list(planted - flagged ORDER BY source_digest) FILTER (WHERE planted > 0), []) AS missed
    FROM by_source GROUP BY ALL
)
SELECT
    policy,
    if(drift, 'drift', 'harmless') AS kind,
    mutation, planted, equivalent, flagged, failed,
    flagged / nullif(planted, 0) AS flagged_rate,
    if(planted = 0, 'not applicable to these texts', NULL) AS flagged_rate_reason,
    len(caught) AS sources,
    share_end(caught, missed, -1) AS rate_low,
    share_reason(caught, missed, 'sources') AS rate_low_reason,
    share_end(caught, missed, 1) AS rate_high
FROM counts
ORDER BY policy, kind, mutation;
