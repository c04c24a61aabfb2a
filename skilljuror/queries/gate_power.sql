-- question: How much planted drift would the gates have caught, and how much else do they flag?
-- section: RQ1
-- grain: one row is drift or harmless edits, under one policy
-- columns: policy, own_policy, kind, assayed, builds, pooled, planted, equivalent, flagged,
--   failed, flagged_rate, flagged_rate_reason, rate_low, rate_high
-- read: Known changes were planted into the variants, one at a time, and judged by the gates as any
--   variant is. Drift changes what an agent must do and should be flagged; a harmless edit should not.
--   It measures changes of these kinds alone.
-- empty: Nobody planted changes into these builds yet: `skilljuror assay STUDY --keep` does, or
--   `build: {assay: 2}` in the study file of the next run.
-- column own_policy: whether the variants themselves were judged under this policy; the figures of
--   another say nothing of their verdicts
-- column kind: drift changes what an agent must do, a harmless edit does not; judging a variant again as
--   it is (`none`) is no edit and is left out here
-- column assayed: builds with an assay, or with the source and variants of one that has
-- column builds: builds in all; where assayed is less, the others are not in these figures
-- column pooled: assays that are counted; builds of one source with the same variants count once
-- column planted: changes made and judged
-- column equivalent: changes left out, since the text says the same without white space, list markers
--   and emphasis
-- column flagged: verdict review or fail
-- column failed: verdict fail; the rest of the flagged waits for a person
-- column rate_low: lower end of Wilson's 95 % interval, every change weighing the same
-- column rate_high: upper end of the same
WITH ruling AS (
    SELECT build, string_agg(DISTINCT policy, ', ' ORDER BY policy) AS ruling
    FROM gate_results GROUP BY build
),
told AS (
    SELECT a.*, a.policy = r.ruling AS own_policy FROM assays AS a LEFT JOIN ruling AS r USING (build)
),
held AS (
    SELECT policy, own_policy, CAST(sum(builds) AS BIGINT) AS assayed, count(*) AS pooled
    FROM (SELECT DISTINCT policy, own_policy, build, builds FROM told)
    GROUP BY ALL
),
counts AS (
    SELECT
        policy, own_policy, drift,
        CAST(sum(planted) AS BIGINT) AS planted,
        CAST(sum(equivalent) AS BIGINT) AS equivalent,
        CAST(sum(flagged) AS BIGINT) AS flagged,
        CAST(sum(failed) AS BIGINT) AS failed
    FROM told WHERE mutation <> 'none' GROUP BY ALL
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
    if(planted = 0, 'no place for any', NULL) AS flagged_rate_reason,
    wilson_low(flagged, planted) AS rate_low,
    wilson_high(flagged, planted) AS rate_high
FROM counts AS c
JOIN held AS h ON h.policy = c.policy AND h.own_policy IS NOT DISTINCT FROM c.own_policy
ORDER BY c.own_policy DESC NULLS LAST, c.policy, kind;
