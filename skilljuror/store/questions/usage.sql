-- question: Which skills were opened more, or less, than in the period before?
-- section: RQ3
-- grain: one row is one skill that was offered or touched in either period
-- columns: skill, offered, opened, unknown, open_rate, offered_before, opened_before, unknown_before, open_rate_before,
--   change, change_low, change_high, opened_unlisted, opened_unlisted_before, uses, tokens_shown, tokens_shown_before
-- params: days=28, until=null, skill=null
-- read: The interval treats runs as independent: it is too narrow if a few people or projects made most of them.
--   A skill with few offers has a wide one.
-- empty: No run has a time, or none was offered a skill or touched one in these periods.
-- column offered: runs of the last `days` days before `until` (default: the day of the latest run that is not dated
--   in the future) that were offered it, by their log or variant
-- column opened: of these, runs that activated, read, ran or imported any of its resources
-- column unknown: of these, runs in which only a tool that skilljuror does not know may have opened it; they are in no
--   rate, and `opened` is null if all are
-- column offered_before: the same in as many days before
-- column change: open_rate - open_rate_before, a fraction; null unless it was offered in both periods
-- column change_low: lower end of Newcombe's 95 % interval of the change
-- column opened_unlisted: runs that opened it although their log does not list it as offered
-- column uses: resource events except authoring and mentions
-- column tokens_shown: estimated tokens of its text that reached a context, at four bytes a token, repeats included
WITH ends AS (
    SELECT coalesce(
        CAST($until AS DATE),
        max(CAST(started_at AS DATE)) FILTER (WHERE started_at <= make_timestamp(epoch_us(now())))  -- UTC
    ) AS last
    FROM trajectories
),
periods AS (
    SELECT
        t.trajectory,
        date_diff('day', CAST(t.started_at AS DATE), e.last) >= CAST($days AS INTEGER) AS earlier
    FROM trajectories AS t, ends AS e
    WHERE date_diff('day', CAST(t.started_at AS DATE), e.last) BETWEEN 0 AND 2 * CAST($days AS INTEGER) - 1
),
sums AS (
    SELECT
        skill,
        count(*) FILTER (WHERE s.offered AND NOT earlier) AS offered,
        count(*) FILTER (WHERE s.offered AND s.opened AND NOT earlier) AS opened,
        count(*) FILTER (WHERE s.offered AND s.opened IS NULL AND NOT earlier) AS unknown,
        count(*) FILTER (WHERE s.offered AND earlier) AS offered_before,
        count(*) FILTER (WHERE s.offered AND s.opened AND earlier) AS opened_before,
        count(*) FILTER (WHERE s.offered AND s.opened IS NULL AND earlier) AS unknown_before,
        count(*) FILTER (WHERE NOT s.offered AND s.opened AND NOT earlier) AS opened_unlisted,
        count(*) FILTER (WHERE NOT s.offered AND s.opened AND earlier) AS opened_unlisted_before,
        sum(s.uses) FILTER (WHERE NOT earlier) AS uses,
        sum(s.bytes) FILTER (WHERE NOT earlier) AS bytes,
        sum(s.bytes) FILTER (WHERE earlier) AS bytes_before
    FROM skill_runs AS s
    JOIN periods AS p USING (trajectory)
    WHERE CAST($skill AS VARCHAR) IS NULL OR CAST($skill AS VARCHAR) IN (skill, regexp_extract(skill, '[^:]*$'))
    GROUP BY skill
)
SELECT
    skill, offered, if(unknown > 0 AND unknown = offered, NULL, opened) AS opened, unknown,
    opened / nullif(known, 0) AS open_rate, offered_before,
    if(unknown_before > 0 AND unknown_before = offered_before, NULL, opened_before) AS opened_before, unknown_before,
    opened_before / nullif(known_before, 0) AS open_rate_before,
    opened / nullif(known, 0) - opened_before / nullif(known_before, 0) AS change,
    newcombe_low(opened, known, opened_before, known_before) AS change_low,
    newcombe_high(opened, known, opened_before, known_before) AS change_high,
    opened_unlisted, opened_unlisted_before,
    CAST(coalesce(uses, 0) AS BIGINT) AS uses,  -- a period without a row has no event: zero
    CAST(round(coalesce(bytes, 0) / 4) AS BIGINT) AS tokens_shown,  -- likewise
    CAST(round(coalesce(bytes_before, 0) / 4) AS BIGINT) AS tokens_shown_before  -- likewise
FROM (SELECT *, offered - unknown AS known, offered_before - unknown_before AS known_before FROM sums) AS s
ORDER BY s.opened + opened_unlisted DESC, offered DESC, skill;
