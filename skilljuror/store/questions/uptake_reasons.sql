-- question: Why did the judge answer yes, no or unknown?
-- section: RQ3
-- grain: one row is one condition, judge, label and reason
-- columns: condition, judge, label, category, events, share
-- arms: condition
-- empty: No uses, or none judged yet. Judge them with `skilljuror judge STUDY`.
-- column share: of this judge's verdicts in this condition
SELECT
    r.condition,
    v.judge,
    v.label,
    v.category,
    CAST(sum(v.events) AS BIGINT) AS events,
    sum(v.events) / sum(sum(v.events)) OVER (PARTITION BY r.condition, v.judge) AS share
FROM judged_uses AS v
JOIN arm_runs AS r ON r.usable AND r.run = v.run
GROUP BY r.condition, r.position, v.judge, v.label, v.category
ORDER BY r.position, v.judge, v.label DESC, events DESC, v.category;
