-- question: Did opened resources become visible work?
-- section: RQ3
-- grain: one row is one condition and one judge
-- columns: condition, judge, trajectories, events, judged, coverage, yes, no, unknown,
--   not_seen_again, unparsed, eru_low, eru_high, eru_rate, eru_rate_reason, mean_events, mean_yes, ge1_yes,
--   ge2_yes, ge5_yes
-- params: judge=null
-- read: The ERU rate (Effective Resource Uptake) says how often an access was put to work, the mean of
--   yes events how much work that was. A judge without a model cannot decide a use whose content was
--   shown and not seen again: its rate lies between two ends. A layout that invites many accesses can raise the second without the first.
--   A judge called model/... was asked about a sample of proved yes alone: its rate is no rate of the study.
-- null judge: nobody judged these uses yet. `skilljuror judge STUDY` does
-- column trajectories: trials whose log could be read, those without any event included
-- column events: uses of a resource by the main agent and its sub-agents
-- column judged: events with a verdict of this judge
-- column not_seen_again: of the unknown, those whose content was shown and could be recognised, and
--   that nothing later repeats
-- column unparsed: of the unknown, those on which a model gave no usable answer
-- column eru_low: lower end of the rate: yes / (yes + no + not_seen_again + unparsed), as if none of these
--   two had been taken up; every other unknown stays outside
-- column eru_high: upper end: (yes + not_seen_again + unparsed) / the same, as if all of them had
-- column eru_rate: yes / (yes + no), where that is one number; null when nothing was decided, and
--   where uses that nobody could decide leave it between two ends
-- column mean_events: events per trajectory, unknown ones included
-- column mean_yes: yes events per trajectory; null unless every event was judged
-- column ge2_yes: trajectories with two or more yes events
WITH judges AS (
    SELECT DISTINCT judge FROM verdicts
    WHERE CAST($judge AS VARCHAR) IS NULL OR judge = CAST($judge AS VARCHAR)
),
per_run AS (
    SELECT
        r.condition,
        r.position,
        j.judge,
        r.run,
        count(u.event) AS events,
        count(v.label) AS judged,
        count(*) FILTER (WHERE v.label = 'yes') AS yes,
        count(*) FILTER (WHERE v.label = 'no') AS no,
        count(*) FILTER (WHERE v.label = 'unknown') AS unknown,
        count(*) FILTER (WHERE v.label = 'unknown' AND v.category = 'not_seen_again') AS again,
        count(*) FILTER (WHERE v.label = 'unknown' AND v.category = 'unparsed') AS unparsed,
        count(*) FILTER (WHERE is_open(v.label, v.category)) AS open
    FROM runs AS r
    LEFT JOIN judges AS j ON true
    LEFT JOIN uses AS u ON u.run = r.run
    LEFT JOIN verdicts AS v ON v.event = u.event AND v.judge = j.judge
    WHERE r.readable
    GROUP BY ALL
),
sums AS (
    SELECT
        condition,
        position,
        judge,
        count(*) AS trajectories,
        sum(events) AS events,
        sum(judged) AS judged,
        sum(yes) AS yes,
        sum(no) AS no,
        sum(unknown) AS unknown,
        sum(again) AS again,
        sum(unparsed) AS unparsed,
        sum(open) AS open,
        count(*) FILTER (WHERE yes >= 1) AS ge1,
        count(*) FILTER (WHERE yes >= 2) AS ge2,
        count(*) FILTER (WHERE yes >= 5) AS ge5
    FROM per_run
    GROUP BY condition, position, judge
)
SELECT
    condition,
    judge,
    trajectories,
    CAST(events AS BIGINT) AS events,
    CAST(judged AS BIGINT) AS judged,
    judged / nullif(events, 0) AS coverage,
    CAST(if(judge IS NULL, NULL, yes) AS BIGINT) AS yes,
    CAST(if(judge IS NULL, NULL, no) AS BIGINT) AS no,
    CAST(if(judge IS NULL, NULL, unknown) AS BIGINT) AS unknown,
    CAST(if(judge IS NULL, NULL, again) AS BIGINT) AS not_seen_again,
    CAST(if(judge IS NULL, NULL, unparsed) AS BIGINT) AS unparsed,
    yes / nullif(yes + no + open, 0) AS eru_low,
    (yes + open) / nullif(yes + no + open, 0) AS eru_high,
    if(open = 0, yes / nullif(yes + no, 0), NULL) AS eru_rate,  -- unknown stays outside (A-26)
    CASE
        WHEN judge IS NULL THEN 'not_judged'
        WHEN open > 0 THEN 'between_two_ends'
        WHEN yes + no = 0 THEN 'nothing_decided'
    END AS eru_rate_reason,
    events / trajectories AS mean_events,
    if(judge IS NOT NULL AND judged = events, yes / trajectories, NULL) AS mean_yes,
    if(judge IS NULL, NULL, ge1) AS ge1_yes,
    if(judge IS NULL, NULL, ge2) AS ge2_yes,
    if(judge IS NULL, NULL, ge5) AS ge5_yes
FROM sums
ORDER BY position, judge;
