-- question: Which resources were opened, and were they used?
-- section: RQ3
-- grain: one row is one resource of a condition, a task and a judge
-- columns: condition, task, skill, resource, resource_class, judge, events, trajectories,
--   first_step, yes, no, unknown, open, eru_low, eru_high, eru_rate
-- arms: condition
-- params: judge=null
-- null judge: these uses are not judged yet; run `skilljuror judge STUDY`
-- column events: uses of it
-- column trajectories: runs with a use of it
-- column first_step: median over these runs of the step of its first use; 0 is before the first step
-- column open: of the unknown, those whose content was shown
-- column eru_low: yes / (yes + no + open), counting every open use as no
-- column eru_high: (yes + open) / (yes + no + open), counting every open use as yes
-- column eru_rate: yes / (yes + no); null if nothing was decided or a use is open
WITH judges AS (
    SELECT DISTINCT judge FROM verdicts
    WHERE CAST($judge AS VARCHAR) IS NULL OR judge = CAST($judge AS VARCHAR)
),
used AS (
    SELECT
        run, skill, resource, min(resource_class) AS resource_class, count(*) AS events,
        min(step) FILTER (agent = 'main') AS step
    FROM uses GROUP BY ALL
),
medians AS (
    SELECT r.condition, r.task, f.skill, f.resource, median(f.step) AS first_step
    FROM used AS f JOIN arm_runs AS r ON r.usable AND r.run = f.run GROUP BY ALL
),
said AS (
    SELECT
        run, skill, resource, judge, sum(low) AS low, sum(high) AS high, sum(events) FILTER (low IS NOT NULL) AS rated,
        sum(events) FILTER (label = 'yes') AS yes, sum(events) FILTER (label = 'no') AS no,
        sum(events) FILTER (label = 'unknown') AS unknown, sum(events) FILTER (open) AS open
    FROM judged_uses GROUP BY ALL
),
sums AS (
    SELECT
        r.condition, r.position, r.task, u.skill, u.resource,
        min(u.resource_class) AS resource_class,
        j.judge,
        sum(u.events)::BIGINT AS events,
        count(*) AS trajectories,
        coalesce(sum(v.yes), 0)::BIGINT AS yes,
        coalesce(sum(v.no), 0)::BIGINT AS no,
        coalesce(sum(v.unknown), 0)::BIGINT AS unknown,
        coalesce(sum(v.open), 0)::BIGINT AS open,
        sum(v.low) / sum(v.rated) AS low,
        sum(v.high) / sum(v.rated) AS high
    FROM used AS u
    JOIN arm_runs AS r ON r.usable AND r.run = u.run
    LEFT JOIN judges AS j ON true
    LEFT JOIN said AS v ON v.run = u.run AND v.skill = u.skill AND v.resource = u.resource AND v.judge = j.judge
    GROUP BY r.condition, r.position, r.task, u.skill, u.resource, j.judge
)
SELECT
    s.condition, s.task, s.skill, s.resource, s.resource_class, s.judge, s.events, s.trajectories,
    m.first_step,
    if(s.judge IS NULL, NULL, s.yes) AS yes,
    if(s.judge IS NULL, NULL, s.no) AS no,
    if(s.judge IS NULL, NULL, s.unknown) AS unknown,
    if(s.judge IS NULL, NULL, s.open) AS open,
    s.low AS eru_low,
    s.high AS eru_high,
    if(s.open = 0, s.low, NULL) AS eru_rate
FROM sums AS s
LEFT JOIN medians AS m
    ON m.condition = s.condition AND m.task IS NOT DISTINCT FROM s.task
    AND m.skill = s.skill AND m.resource = s.resource
ORDER BY s.task, s.position, s.skill, s.trajectories DESC, s.resource, s.judge;
