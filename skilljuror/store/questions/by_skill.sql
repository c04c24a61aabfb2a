-- question: Which skills were offered, opened and used, week by week?
-- section: RQ3
-- grain: one row is one skill, week and judge
-- columns: skill, week, judge, offered, opened, opened_offered, unknown, open_rate, unlisted, uptake_low, uptake_high,
--   eru_low, eru_high, uses, failed, bytes_shown, tokens_shown
-- first: skill, week, offered, opened, open_rate, uses, failed, tokens_shown, unlisted, uptake_low, uptake_high,
--   unknown, judge
-- sums: uses, failed, bytes_shown, tokens_shown
-- place: 2
-- params: since=null, skill=null, judge=null
-- read: Many logs do not list what they offer: their runs are in `unlisted`, and in no rate.
-- empty: No run was offered a skill or touched one, or none started after `since`; `skilljuror query STUDY
--   trajectories` shows when each run started.
-- null judge: these uses are not judged yet; run `skilljuror judge STUDY`
-- column week: Monday of the week in which the run started, UTC; null if the log has no times
-- column offered: runs that were offered it, by their log or variant; null if none of these logs has a list of Skills
-- column opened: runs that activated, read, ran or imported any of its resources; null if only a tool that skilljuror
--   does not know may have opened it
-- column opened_offered: of `offered`, runs that opened it; null without one in which that is known
-- column unknown: of `offered`, runs in which only such an unknown tool may have opened it
-- column open_rate: opened_offered / (offered - unknown)
-- column unlisted: other runs that touched it; their log does not list it as offered
-- column uptake_low: runs with at least one use labelled yes; null unless every use was judged
-- column uptake_high: the same, counting every open use as yes
-- column eru_low: yes / (yes + no + open) over its uses, counting every open use as no
-- column eru_high: (yes + open) / (yes + no + open), counting every open use as yes
-- column uses: resource events except authoring and mentions
-- column failed: uses that failed
-- column bytes_shown: bytes of its text that reached a context, repeats included
-- column tokens_shown: estimated tokens of the same text, at four bytes a token. With a knowledge map and the
--   vocabulary, the measure skill_tokens_shown counts them
WITH began AS (
    SELECT trajectory, CAST(date_trunc('week', started_at) AS DATE) AS week
    FROM trajectories
    WHERE CAST($since AS VARCHAR) IS NULL OR started_at >= CAST($since AS TIMESTAMP)
),
judges AS (
    SELECT DISTINCT judge FROM verdicts
    WHERE CAST($judge AS VARCHAR) IS NULL OR judge = CAST($judge AS VARCHAR)
),
labels AS (
    SELECT
        v.trajectory, n.name AS skill, v.judge, sum(v.events) AS judged,
        sum(v.events) FILTER (label <> 'unknown' OR is_open(label, category)) AS rated,
        sum(CASE WHEN label = 'yes' THEN v.events WHEN label = 'no' OR is_open(label, category) THEN 0 END) AS low,
        sum(CASE WHEN label = 'yes' OR is_open(label, category) THEN v.events WHEN label = 'no' THEN 0 END) AS high
    FROM verdict_counts AS v JOIN skill_names AS n ON n.trajectory = v.trajectory AND n.skill = v.skill
    GROUP BY v.trajectory, n.name, v.judge
),
sums AS (
    SELECT
        skill, week, j.judge,
        if(count(s.offered) = 0, NULL, count(*) FILTER (WHERE s.offered)) AS offered,
        if(bool_or(s.opened) IS NULL, NULL, count(*) FILTER (WHERE s.opened)) AS opened,
        count(*) FILTER (WHERE s.offered AND s.opened) AS opened_offered,
        count(*) FILTER (WHERE s.offered AND s.opened IS NULL) AS unknown,
        count(*) FILTER (WHERE s.offered IS NOT true) AS unlisted,
        count(*) FILTER (WHERE l.low > 0) AS uptake_low,
        count(*) FILTER (WHERE l.high > 0) AS uptake_high,
        judge IS NOT NULL AND coalesce(sum(l.judged), 0) = sum(s.uses) AS all_judged,
        sum(l.rated) AS rated, sum(l.low) AS low, sum(l.high) AS high,
        sum(s.uses) AS uses, sum(s.failed) AS failed, sum(s.bytes) AS bytes
    FROM skill_runs AS s
    JOIN began AS b USING (trajectory)
    LEFT JOIN judges AS j ON true
    LEFT JOIN labels AS l USING (skill, trajectory, judge)
    WHERE CAST($skill AS VARCHAR) IS NULL OR CAST($skill AS VARCHAR) IN (skill, regexp_extract(skill, '[^:]*$'))
    GROUP BY skill, week, j.judge
)
SELECT
    skill, week, judge, offered, opened, if(offered > unknown, opened_offered, NULL) AS opened_offered, unknown,
    opened_offered / nullif(offered - unknown, 0) AS open_rate,
    unlisted,
    if(all_judged, uptake_low, NULL) AS uptake_low,
    if(all_judged, uptake_high, NULL) AS uptake_high,
    low / nullif(rated, 0) AS eru_low,
    high / nullif(rated, 0) AS eru_high,
    CAST(uses AS BIGINT) AS uses,
    CAST(failed AS BIGINT) AS failed,
    CAST(bytes AS BIGINT) AS bytes_shown,
    CAST(round(bytes / 4) AS BIGINT) AS tokens_shown
FROM sums
ORDER BY coalesce(sums.opened, 0) > 0 DESC, week DESC NULLS LAST, sums.opened DESC NULLS LAST, offered DESC, skill, judge;
