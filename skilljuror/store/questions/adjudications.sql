-- question: How did reviewers decide the findings that the gates flagged?
-- section: RQ1
-- grain: one row is one layout and one gate, over all builds
-- columns: variant, gate, judged, negative, source_idiosyncrasy, packaging_artifact, controlled_repair,
--   rejected, waived, disputed, unresolved
-- read: A flagged finding is resolved when all its reviewers accept it or all reject it; its class is the
--   last one given. If the gate itself fails, only a waiver resolves the finding: until then it counts as
--   `unresolved`.
-- empty: No builds. `skilljuror build SOURCE --out DIR` builds variants; `skilljuror ingest --study STUDY`
--   reads those of a study.
-- column judged: variants that the gate checked
-- column negative: findings behind a verdict other than pass, now or before review
-- column source_idiosyncrasy: findings accepted because the source already had them
-- column packaging_artifact: findings accepted as an effect of packaging
-- column controlled_repair: findings accepted as a repair that preserves the knowledge
-- column rejected: findings for which a reviewer rejected the variant
-- column waived: findings that a reviewer waived
-- column disputed: unresolved findings that one reviewer accepts and another rejects
-- column unresolved: negative minus all resolved findings
WITH said AS (
    SELECT
        build, variant, subject,
        max_by(adjudication, position) AS class,
        bool_or(adjudication = 'reject') AND bool_or(adjudication <> 'reject') AS disputed
    FROM decisions
    WHERE kind = 'finding' AND NOT stale AND adjudication IS NOT NULL
    GROUP BY build, variant, subject
),
found AS (
    SELECT DISTINCT
        f.build, f.variant, f.gate, f.id, g.verdict,
        w.finding IS NOT NULL AS waived,
        if(s.disputed, NULL, s.class) AS class,
        coalesce(s.disputed, false) AS disputed,
        -- a class settles a finding that decides nothing any more; a rejection, one that still counts
        f.waived IS NOT NULL OR s.class = 'reject' AS settles
    FROM findings AS f
    JOIN gate_results AS g ON g.build = f.build AND g.variant = f.variant AND g.gate = f.gate
    LEFT JOIN waivers AS w ON w.build = f.build AND w.finding = f.id AND NOT w.stale
    LEFT JOIN said AS s ON s.build = f.build AND s.variant = f.variant AND s.subject = f.id
    WHERE NOT f.inherited AND f.severity <> 'info'
),
flagged AS (
    SELECT
        build, variant, gate, waived, disputed,
        if(settles AND NOT waived, class, NULL) AS class
    FROM found
    WHERE verdict <> 'pass' OR waived OR class IS NOT NULL
),
counts AS (
    SELECT
        variant, gate,
        count(*) AS negative,
        count(*) FILTER (WHERE class = 'source_idiosyncrasy') AS source_idiosyncrasy,
        count(*) FILTER (WHERE class = 'packaging_artifact') AS packaging_artifact,
        count(*) FILTER (WHERE class = 'controlled_repair') AS controlled_repair,
        count(*) FILTER (WHERE class = 'reject') AS rejected,
        count(*) FILTER (WHERE waived) AS waived,
        count(*) FILTER (WHERE disputed AND NOT waived) AS disputed,
        count(*) FILTER (WHERE class IS NULL AND NOT waived) AS unresolved
    FROM flagged
    GROUP BY variant, gate
)
SELECT
    g.variant, g.gate,
    count(*) AS judged,
    coalesce(any_value(c.negative), 0) AS negative,
    coalesce(any_value(c.source_idiosyncrasy), 0) AS source_idiosyncrasy,
    coalesce(any_value(c.packaging_artifact), 0) AS packaging_artifact,
    coalesce(any_value(c.controlled_repair), 0) AS controlled_repair,
    coalesce(any_value(c.rejected), 0) AS rejected,
    coalesce(any_value(c.waived), 0) AS waived,
    coalesce(any_value(c.disputed), 0) AS disputed,
    coalesce(any_value(c.unresolved), 0) AS unresolved
FROM gate_results AS g
LEFT JOIN counts AS c ON c.variant = g.variant AND c.gate = g.gate
GROUP BY g.variant, g.gate
ORDER BY g.variant, g.gate;
