-- question: How much planted drift do the gates catch, and how many harmless edits do they flag?
-- section: RQ1
-- grain: one row is drift or harmless edits, under one policy
-- columns: policy, own_policy, kind, assayed, builds, pooled, planted, equivalent, flagged,
--   failed, flagged_rate, flagged_rate_reason, sources, rate_low, rate_low_reason, rate_high
-- read: Known changes were planted into the variants, one at a time, and checked like any variant. Drift
--   changes what an agent must do and should be flagged; a harmless edit should not. The rates hold for these
--   kinds of change only.
-- empty: No changes were planted into these builds. Use `skilljuror assay STUDY --keep`, or `build: {assay:
--   2}` in the study file of the next run.
-- column own_policy: true if the variants themselves were checked under this policy; rates of another policy
--   say nothing about their verdicts
-- column kind: drift changes what an agent must do, a harmless edit does not; the unchanged variant (`none`)
--   is left out here
-- column assayed: builds with an assay, or with the same source and variants as one with an assay
-- column builds: total builds; those without an assay are not in these rates
-- column pooled: assays counted; builds of one source with the same variants count once
-- column planted: changes made and checked
-- column equivalent: changes left out because the text is the same without white space, list markers and
--   emphasis
-- column flagged: verdict review or fail
-- column failed: verdict fail; the rest of the flagged need review
-- column sources: sources with such a change; those of one source are alike, so the interval is over sources
-- column rate_low: lower end of the 95 % interval, by a jackknife of the log odds over sources
-- column rate_low_reason: why there is no interval
-- column rate_high: upper end of the same interval
WITH ruling AS (
    SELECT build, string_agg(DISTINCT policy, ', ' ORDER BY policy) AS ruling
    FROM gate_results GROUP BY build
),
recorded AS (
    SELECT a.*, a.policy = r.ruling AS own_policy FROM assays AS a LEFT JOIN ruling AS r USING (build)
),
held AS (
    SELECT policy, own_policy, CAST(sum(builds) AS BIGINT) AS assayed, count(*) AS pooled
    FROM (SELECT DISTINCT policy, own_policy, build, builds FROM recorded)
    GROUP BY ALL
),
by_source AS (
    SELECT
        policy, own_policy, drift, source_digest,
        CAST(sum(planted) AS BIGINT) AS planted,
        CAST(sum(equivalent) AS BIGINT) AS equivalent,
        CAST(sum(flagged) AS BIGINT) AS flagged,
        CAST(sum(failed) AS BIGINT) AS failed
    FROM recorded JOIN builds USING (build) WHERE mutation <> 'none' GROUP BY ALL
),
counts AS (
    SELECT
        policy, own_policy, drift,
        CAST(sum(planted) AS BIGINT) AS planted,
        CAST(sum(equivalent) AS BIGINT) AS equivalent,
        CAST(sum(flagged) AS BIGINT) AS flagged,
        CAST(sum(failed) AS BIGINT) AS failed,
        coalesce(list(flagged ORDER BY source_digest) FILTER (WHERE planted > 0), []) AS caught,
        coalesce(list(planted - flagged ORDER BY source_digest) FILTER (WHERE planted > 0), []) AS missed
    FROM by_source GROUP BY ALL
)
SELECT
    c.policy,
    c.own_policy,
    if(drift, 'drift', 'harmless') AS kind,
    h.assayed,
    (SELECT count(*) FROM builds) AS builds,
    h.pooled,
    planted, equivalent, flagged, failed,
    flagged / nullif(planted, 0) AS flagged_rate,
    if(planted = 0, 'not applicable to these texts', NULL) AS flagged_rate_reason,
    len(caught) AS sources,
    share_end(caught, missed, -1) AS rate_low,
    share_reason(caught, missed, 'sources') AS rate_low_reason,
    share_end(caught, missed, 1) AS rate_high
FROM counts AS c
JOIN held AS h ON h.policy = c.policy AND h.own_policy IS NOT DISTINCT FROM c.own_policy
ORDER BY c.own_policy DESC NULLS LAST, c.policy, kind;
