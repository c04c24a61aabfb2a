-- question: Week by week: which skills were offered, opened and put to work, and what did they take?
-- section: RQ3
-- grain: one row is one skill, week and judge
-- columns: skill, week, judge, offered, opened, open_rate, not_told, opened_not_told, taken_up,
--   eru_low, eru_high, uses, failed, bytes_shown, tokens_shown
-- params: since=null, skill=null, judge=null
-- read: Opened is counted of the runs that were offered the skill as far as is known. Many logs do not
--   list what they offer: their runs stand apart as not told, and say nothing of how often the skill was
--   there and left alone.
-- empty: No run was offered a skill or touched one, or none that began since then: `skilljuror
--   query STUDY trajectories` tells when each began.
-- null judge: nobody judged these uses yet. `skilljuror judge STUDY` does
-- column week: Monday of the week in which the run began, UTC; null where the log tells no time
-- column offered: runs that were offered it, by their log or by their variant
-- column opened: of these, runs in which any of its resources was activated, read, searched, run or
--   imported
-- column open_rate: opened of offered
-- column not_told: further runs that touched it; their log does not list it as offered
-- column opened_not_told: of these, runs that opened it
-- column taken_up: runs in which the judge saw at least one use put to work; null when not judged
-- column eru_low: yes / (yes + no + open) over its uses, as if no open one had been put to work: one not seen
--   again, or on which a model gave no usable answer
-- column eru_high: the same as if every such use had
-- column uses: resource events without authoring and mentions
-- column failed: uses that failed
-- column bytes_shown: bytes of its text that reached a context, repeats included
-- column tokens_shown: the same in tokens, at four bytes a token: an estimate. Where a knowledge map and
--   the vocabulary are at hand, the measure skill_tokens_shown has them counted
WITH began AS (
    SELECT trajectory, trial, CAST(date_trunc('week', started_at) AS DATE) AS week
    FROM trajectories
    WHERE CAST($since AS VARCHAR) IS NULL OR started_at >= CAST($since AS TIMESTAMP)
),
offers AS (
    SELECT trajectory, regexp_extract(skill, '[^:]*$') AS skill FROM offered
    UNION
    SELECT b.trajectory, unnest(v.skills) AS skill
    FROM began AS b
    JOIN trials AS t ON t.trial = b.trial
    JOIN variants AS v ON v.build = t.task AND v.variant = t.variant
),
touches AS (
    SELECT
        trajectory, regexp_extract(skill, '[^:]*$') AS skill,
        bool_or(kind IN ('activate', 'read', 'search', 'exec', 'import') AND ok IS NOT false
            AND NOT phantom) AS opened,
        count(*) AS uses,
        count(*) FILTER (WHERE ok = false) AS failed,
        sum(shown_bytes) FILTER (WHERE content_exposed <> 'none' AND NOT phantom) AS bytes
    FROM events WHERE counted GROUP BY ALL
),
judges AS (
    SELECT DISTINCT judge FROM verdicts
    WHERE CAST($judge AS VARCHAR) IS NULL OR judge = CAST($judge AS VARCHAR)
),
labels AS (
    SELECT
        e.trajectory, regexp_extract(e.skill, '[^:]*$') AS skill, v.judge,
        count(*) FILTER (WHERE v.label = 'yes') AS yes,
        count(*) FILTER (WHERE v.label = 'no') AS no,
        count(*) FILTER (WHERE is_open(v.label, v.category)) AS open
    FROM events AS e JOIN verdicts AS v ON v.event = e.event
    WHERE e.counted GROUP BY ALL
),
sums AS (
    SELECT
        skill, week, j.judge,
        count(o.trajectory) AS offered,
        count(*) FILTER (WHERE o.trajectory IS NOT NULL AND t.opened) AS opened,
        count(*) FILTER (WHERE o.trajectory IS NULL) AS not_told,
        count(*) FILTER (WHERE o.trajectory IS NULL AND t.opened) AS opened_not_told,
        count(*) FILTER (WHERE l.yes > 0) AS taken_up,
        sum(l.yes) AS yes, sum(l.no) AS no, sum(l.open) AS open,
        sum(t.uses) AS uses, sum(t.failed) AS failed, sum(t.bytes) AS bytes
    FROM touches AS t
    FULL JOIN offers AS o USING (skill, trajectory)
    JOIN began AS b USING (trajectory)
    LEFT JOIN judges AS j ON true
    LEFT JOIN labels AS l USING (skill, trajectory, judge)
    WHERE CAST($skill AS VARCHAR) IS NULL OR skill = regexp_extract(CAST($skill AS VARCHAR), '[^:]*$')
    GROUP BY skill, week, j.judge
)
SELECT
    skill, week, judge, offered, opened,
    opened / nullif(offered, 0) AS open_rate,
    not_told, opened_not_told,
    if(judge IS NULL, NULL, taken_up) AS taken_up,
    yes / nullif(yes + no + open, 0) AS eru_low,
    (yes + open) / nullif(yes + no + open, 0) AS eru_high,
    CAST(coalesce(uses, 0) AS BIGINT) AS uses,  -- a run without a row has no event: zero
    CAST(coalesce(failed, 0) AS BIGINT) AS failed,  -- likewise
    CAST(coalesce(bytes, 0) AS BIGINT) AS bytes_shown,  -- likewise; nothing shown is nothing
    CAST(round(coalesce(bytes, 0) / 4) AS BIGINT) AS tokens_shown
FROM sums
ORDER BY week DESC NULLS LAST, opened + opened_not_told DESC, skill, judge;
