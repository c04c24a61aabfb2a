-- question: Did agents act on the resources that they opened?
-- section: RQ3
-- grain: one row is one condition and one judge
-- columns: condition, judge, trajectories, events, judged, coverage, yes, no, unknown, open, eru_low, eru_high,
--   eru_rate, eru_rate_reason, without_navigation_low, without_navigation_high, mean_events, mean_yes_low,
--   mean_yes_high, ge1_yes_low, ge1_yes_high, ge2_yes_low, ge2_yes_high, ge5_yes_low, ge5_yes_high
-- first: condition, judge, eru_low, eru_high, yes, no, open, judged, coverage
-- place: 10
-- arms: condition
-- params: judge=null, tasks=null
-- read: The ERU rate (Effective Resource Uptake) is the share of accesses that the agent acted on; the mean
--   of yes events is the amount of such work. A use is open if its content was shown and the judge could not
--   decide: every number then has a low and a high end, counting open uses as no or as yes. A layout that
--   causes many accesses can raise the mean without the rate. A judge called model/... only rechecked a
--   sample of proved yes: its rate is not a rate of the study.
-- null judge: these uses are not judged yet; run `skilljuror judge STUDY`
-- column trajectories: trials with a readable log, with or without events
-- column events: uses of a resource by the main agent and its sub-agents
-- column judged: events with a verdict of this judge
-- column open: of the unknown, those whose content was shown, for any reason; see `uptake_reasons`
-- column eru_low: lower end of the rate: yes / (yes + no + open), counting every open use as no
-- column eru_high: upper end of the rate: (yes + open) / (yes + no + open), counting every open use as yes
-- column eru_rate: yes / (yes + no); null if nothing was decided or if open uses leave a range
-- column without_navigation_low: eru_low without the uses that only led to another resource, a category that
--   the paper does not have
-- column without_navigation_high: eru_high over the same uses
-- column mean_events: events per trajectory, including unknown ones
-- column mean_yes_low: yes events per trajectory; null unless every event was judged
-- column mean_yes_high: the same, counting every open use as yes
-- column ge2_yes_low: trajectories with two or more yes events; null unless every event was judged
-- column ge2_yes_high: the same, counting every open use as yes
WITH judges AS (
    SELECT DISTINCT judge FROM verdicts
    WHERE CAST($judge AS VARCHAR) IS NULL OR judge = CAST($judge AS VARCHAR)
),
per_run AS MATERIALIZED (
    SELECT
        r.condition, r.position, r.run, j.judge, coalesce(u.events, 0) AS events, coalesce(u.judged, 0) AS judged,
        coalesce(u.low, 0) AS low, coalesce(u.high, 0) AS high
    FROM arm_runs AS r
    LEFT JOIN judges AS j ON true
    LEFT JOIN judged_runs AS u ON u.run = r.run AND u.judge IS NOT DISTINCT FROM j.judge
    WHERE r.readable
        AND (CAST($tasks AS VARCHAR) IS NULL OR list_contains(string_split(CAST($tasks AS VARCHAR), ' '), r.task))
),
rates AS (
    SELECT
        condition, judge,
        sum(v.low) / sum(v.events) FILTER (v.low IS NOT NULL) AS eru_low,
        sum(v.high) / sum(v.events) FILTER (v.low IS NOT NULL) AS eru_high,
        sum(v.low) FILTER (category <> 'navigation') / sum(v.events) FILTER (v.low IS NOT NULL AND category <> 'navigation')
            AS without_navigation_low,
        sum(v.high) FILTER (category <> 'navigation') / sum(v.events) FILTER (v.low IS NOT NULL AND category <> 'navigation')
            AS without_navigation_high,
        CAST(coalesce(sum(v.events) FILTER (label = 'yes'), 0) AS BIGINT) AS yes,
        CAST(coalesce(sum(v.events) FILTER (label = 'no'), 0) AS BIGINT) AS no,
        CAST(coalesce(sum(v.events) FILTER (label = 'unknown'), 0) AS BIGINT) AS unknown,
        CAST(coalesce(sum(v.events) FILTER (open), 0) AS BIGINT) AS open
    FROM per_run AS r LEFT JOIN judged_uses AS v USING (run, judge)
    GROUP BY condition, judge
),
sums AS (
    SELECT
        condition, position, judge,
        count(*) AS trajectories,
        sum(events) AS events,
        sum(judged) AS judged,
        judge IS NOT NULL AND sum(judged) = sum(events) AS all_judged,
        sum(low) AS low,
        sum(high) AS high,
        [count(*) FILTER (WHERE low >= 1), count(*) FILTER (WHERE high >= 1)] AS ge1,
        [count(*) FILTER (WHERE low >= 2), count(*) FILTER (WHERE high >= 2)] AS ge2,
        [count(*) FILTER (WHERE low >= 5), count(*) FILTER (WHERE high >= 5)] AS ge5
    FROM per_run
    GROUP BY condition, position, judge
)
SELECT
    s.condition,
    s.judge,
    s.trajectories,
    CAST(s.events AS BIGINT) AS events,
    CAST(s.judged AS BIGINT) AS judged,
    s.judged / nullif(s.events, 0) AS coverage,
    if(s.judge IS NULL, NULL, r.yes) AS yes,
    if(s.judge IS NULL, NULL, r.no) AS no,
    if(s.judge IS NULL, NULL, r.unknown) AS unknown,
    if(s.judge IS NULL, NULL, r.open) AS open,
    r.eru_low,
    r.eru_high,
    if(r.open = 0, r.eru_low, NULL) AS eru_rate,  -- what was not shown stays outside (A-26)
    CASE
        WHEN s.judge IS NULL THEN 'not_judged'
        WHEN r.open > 0 THEN 'between_two_ends'
        WHEN r.eru_low IS NULL THEN 'nothing_decided'
    END AS eru_rate_reason,
    r.without_navigation_low,
    r.without_navigation_high,
    s.events / s.trajectories AS mean_events,
    if(s.all_judged, s.low / s.trajectories, NULL) AS mean_yes_low,
    if(s.all_judged, s.high / s.trajectories, NULL) AS mean_yes_high,
    if(s.all_judged, s.ge1[1], NULL) AS ge1_yes_low,
    if(s.all_judged, s.ge1[2], NULL) AS ge1_yes_high,
    if(s.all_judged, s.ge2[1], NULL) AS ge2_yes_low,
    if(s.all_judged, s.ge2[2], NULL) AS ge2_yes_high,
    if(s.all_judged, s.ge5[1], NULL) AS ge5_yes_low,
    if(s.all_judged, s.ge5[2], NULL) AS ge5_yes_high
FROM sums AS s
JOIN rates AS r ON r.condition = s.condition AND r.judge IS NOT DISTINCT FROM s.judge
ORDER BY s.position, s.judge;
