-- question: Which skills were offered, opened and used, and what changed?
-- section: RQ3
-- grain: one row is one skill, and project, person or model if asked for, in either period
-- columns: skill, project, person, model, offered, opened, opened_offered, unknown, open_rate, offered_before,
--   opened_before, opened_offered_before, unknown_before, open_rate_before, change, change_low, change_high, uses,
--   failed, tokens_shown, tokens_shown_before, usd, usd_unknown, listing_month_usd, listing_month_usd_unknown,
--   period_start, period_end
-- first: skill, project, person, model, offered, opened, open_rate, uses, failed, tokens_shown, usd, change, change_low,
--   change_high, listing_month_usd, unknown, open_rate_before
-- sums: uses, failed, tokens_shown, usd, listing_month_usd
-- place: 1
-- params: days=28, since=null, until=null, skill=null, by=skill|project|person|model, rows=all|changed|unknown|unused
-- read: The interval treats runs as independent: it is too narrow if a few people or projects made most of them.
--   A skill with few offers has a wide one. Dollars are estimates at the list price: text that was shown, and the
--   entry in the list of skills, are sent again with each later request of the run, cached or not as its input was.
-- empty: No run has a time, or none was offered a skill or touched one in these periods.
-- column skill: its name; of a plugin's, with the plugin
-- column project: name of the run's working folder, with `by=project`; null if unknown, as person and model
-- column offered: runs of the period whose log or variant lists it; null if no log of the period has a list of Skills
-- column opened: runs that activated, read, ran or imported any of its resources, whether or not their log lists it;
--   null if only a tool that skilljuror does not know may have opened it
-- column opened_offered: of `offered`, runs that opened it; null without one in which that is known
-- column unknown: of `offered`, runs in which only such an unknown tool may have opened it; they are in no rate
-- column open_rate: opened_offered / (offered - unknown)
-- column offered_before: the same in a period as long before, as all `…_before`
-- column change: open_rate - open_rate_before, a fraction; null unless it was offered in both periods
-- column change_low: lower end of Newcombe's 95 % interval of the change. `rows=changed` gives the rows whose interval
--   excludes zero, `rows=unknown` those with unknown runs in either period, `rows=unused` those that were offered and
--   never touched
-- column change_high: upper end
-- column uses: resource events except authoring and mentions
-- column failed: uses that failed
-- column tokens_shown: estimated tokens of its text that reached a context, at four bytes a token, repeats included
-- column usd: estimated dollars of this text in all requests that contain it, over the runs where they are known
-- column usd_unknown: other runs that were shown its text: no price of the model, no tokens or no cached share in
--   the log, or unknown what a compaction kept
-- column listing_month_usd: estimated dollars of its entry in the list of skills in 30 days at the rate of this period,
--   or, if the first run is later, of its days since then (at least 7), over the runs where they are known
-- column listing_month_usd_unknown: other runs that were offered it
-- column period_start: start of the period, UTC: `since`, or `days` days before its end
-- column period_end: its end: of the day `until`; by default now with `since`, else of the day of the latest run that
--   is not dated in the future
WITH latest AS (
    SELECT
        coalesce(
            CAST($until AS DATE) + INTERVAL 1 DAY,
            if(CAST($since AS VARCHAR) IS NULL, NULL, make_timestamp(epoch_us(now()))),  -- UTC
            max(CAST(started_at AS DATE)) FILTER (WHERE started_at <= make_timestamp(epoch_us(now()))) + INTERVAL 1 DAY
        ) AS last,
        min(started_at) AS first
    FROM trajectories
),
ends AS (
    SELECT last, coalesce(CAST($since AS TIMESTAMP), last - to_days(CAST($days AS INTEGER))) AS start, first FROM latest
),
dated AS (
    SELECT
        t.trajectory, t.offered_known OR t.trial IS NOT NULL AS listing,
        e.start AS period_start, e.last AS period_end, least(epoch(e.last - e.start) / 86400, greatest(7, epoch(e.last - e.first) / 86400)) AS days,
        if(CAST($by AS VARCHAR) = 'project', t.project, NULL) AS project,
        if(CAST($by AS VARCHAR) = 'person', t.person, NULL) AS person,
        if(CAST($by AS VARCHAR) = 'model', t.model, NULL) AS model,
        t.started_at < e.start AS earlier,
        p.cache_read AS cached_price, CASE WHEN t.hour_write > 0 THEN p.hour_write WHEN t.cache_write > 0 THEN p.cache_write ELSE p.input END AS price
    FROM trajectories AS t CROSS JOIN ends AS e
    LEFT JOIN prices AS p ON p.model = t.plain_model
    WHERE t.started_at >= e.start - (e.last - e.start) AND t.started_at < e.last
),
periods AS (
    SELECT
        *,
        bool_or(listing AND NOT earlier) OVER (PARTITION BY project, person, model) AS listed,
        bool_or(listing AND earlier) OVER (PARTITION BY project, person, model) AS listed_before
    FROM dated
),
sent AS MATERIALIZED (FROM request_lists WHERE trajectory IN (SELECT trajectory FROM periods)),
held AS (
    SELECT
        s.trajectory, s.skill, s.shown_bytes / 4 AS tokens, s.shown_bytes IS NULL OR NOT s.certain AS unknown,
        n.* EXCLUDE (trajectory, agent, steps),
        place_of(s.step, n.steps) AS z, place_of(s.until, n.steps) AS b, place_of(least(s.step + 1, s.until), n.steps) AS a
    FROM stays AS s LEFT JOIN sent AS n ON n.trajectory = s.trajectory AND n.agent = s.agent
    WHERE s.trajectory IN (SELECT trajectory FROM periods)
),
texts AS (  -- as in context_tokens: tokens times the requests that contain them
    SELECT
        s.trajectory, n.name AS skill,
        bool_or(s.unknown) AS unknown,
        sum(s.tokens) AS tokens, sum(s.cached) AS cached
    FROM (
        SELECT
            trajectory, skill, bool_or(unknown OR split[b] - split[a] < requests[b] - requests[a]) AS unknown,
            sum(tokens * (coalesce(requests[b], 0) - coalesce(requests[z], 0))) AS tokens,  -- no step, no request
            sum(tokens * coalesce(cached[b] - cached[a], 0)) AS cached  -- likewise
        FROM held GROUP BY ALL
    ) AS s
    JOIN skill_names AS n ON n.trajectory = s.trajectory AND n.skill = s.skill
    GROUP BY ALL
),
listings AS (
    SELECT
        o.trajectory, n.name AS skill,
        max(o.listing_bytes) / 4 * max(r.requests[-1]) AS tokens,
        max(o.listing_bytes) / 4 * if(max(r.split[-1]) = max(r.requests[-1]), max(r.cached[-1]), NULL) AS cached
    FROM offered AS o
    JOIN skill_names AS n USING (trajectory, skill)
    LEFT JOIN sent AS r ON r.trajectory = o.trajectory AND r.agent = 'main'
    GROUP BY ALL
),
parts AS (
    SELECT
        s.*, p.* EXCLUDE (trajectory),
        x.skill IS NOT NULL AS shown,
        if(x.unknown, NULL, ((x.tokens - x.cached) * p.price + x.cached * p.cached_price) / 1e6) AS usd,
        ((l.tokens - l.cached) * p.price + l.cached * p.cached_price) / 1e6 AS listing_usd
    FROM skill_runs AS s
    JOIN periods AS p USING (trajectory)
    LEFT JOIN texts AS x ON x.trajectory = s.trajectory AND x.skill = s.skill
    LEFT JOIN listings AS l ON l.trajectory = s.trajectory AND l.skill = s.skill
    WHERE CAST($skill AS VARCHAR) IS NULL OR CAST($skill AS VARCHAR) IN (s.skill, regexp_extract(s.skill, '[^:]*$'))
),
sums AS (
    SELECT
        skill, project, person, model, days, period_start, period_end,
        if(listed, count(*) FILTER (WHERE offered AND NOT earlier), NULL) AS offered,
        count(*) FILTER (WHERE opened AND NOT earlier) AS opened,
        count(*) FILTER (WHERE opened IS NULL AND NOT earlier) AS hidden,
        count(*) FILTER (WHERE offered AND opened AND NOT earlier) AS opened_offered,
        count(*) FILTER (WHERE offered AND opened IS NULL AND NOT earlier) AS unknown,
        if(listed_before, count(*) FILTER (WHERE offered AND earlier), NULL) AS offered_before,
        count(*) FILTER (WHERE opened AND earlier) AS opened_before,
        count(*) FILTER (WHERE opened IS NULL AND earlier) AS hidden_before,
        count(*) FILTER (WHERE offered AND opened AND earlier) AS opened_offered_before,
        count(*) FILTER (WHERE offered AND opened IS NULL AND earlier) AS unknown_before,
        sum(uses) FILTER (WHERE NOT earlier) AS uses,
        sum(failed) FILTER (WHERE NOT earlier) AS failed,
        sum(bytes) FILTER (WHERE NOT earlier) AS bytes,
        sum(bytes) FILTER (WHERE earlier) AS bytes_before,
        count(*) FILTER (WHERE shown AND NOT earlier) AS shown,
        count(usd) FILTER (WHERE shown AND NOT earlier) AS text_known,
        sum(usd) FILTER (WHERE NOT earlier) AS usd,
        count(listing_usd) FILTER (WHERE offered AND NOT earlier) AS listing_known,
        sum(listing_usd) FILTER (WHERE offered AND NOT earlier) AS listing_usd
    FROM parts GROUP BY skill, project, person, model, days, period_start, period_end, listed, listed_before
),
rated AS (
    SELECT
        skill, project, person, model, offered,
        if(opened = 0 AND hidden > 0, NULL, opened) AS opened,
        if(known > 0, opened_offered, NULL) AS opened_offered, unknown,
        opened_offered / nullif(known, 0) AS open_rate, offered_before,
        if(opened_before = 0 AND hidden_before > 0, NULL, opened_before) AS opened_before,
        if(known_before > 0, opened_offered_before, NULL) AS opened_offered_before,
        unknown_before, opened_offered_before / nullif(known_before, 0) AS open_rate_before,
        opened_offered / nullif(known, 0) - opened_offered_before / nullif(known_before, 0) AS change,
        newcombe_low(opened_offered, known, opened_offered_before, known_before) AS change_low,
        newcombe_high(opened_offered, known, opened_offered_before, known_before) AS change_high,
        CAST(coalesce(uses, 0) AS BIGINT) AS uses,  -- a period without a row has no event: zero
        CAST(coalesce(failed, 0) AS BIGINT) AS failed,  -- likewise
        CAST(round(coalesce(bytes, 0) / 4) AS BIGINT) AS tokens_shown,  -- likewise
        CAST(round(coalesce(bytes_before, 0) / 4) AS BIGINT) AS tokens_shown_before,  -- likewise
        if(shown = 0, 0, usd) AS usd, shown - text_known AS usd_unknown,
        listing_usd * 30 / days AS listing_month_usd, offered - listing_known AS listing_month_usd_unknown,
        period_start, period_end
    FROM (SELECT *, offered - unknown AS known, offered_before - unknown_before AS known_before FROM sums)
)
FROM rated
WHERE CASE CAST($rows AS VARCHAR)
    WHEN 'changed' THEN change_low > 0 OR change_high < 0
    WHEN 'unknown' THEN unknown > 0 OR unknown_before > 0
    WHEN 'unused' THEN offered > 0 AND uses = 0 AND unknown = 0
    ELSE true
END
ORDER BY opened DESC NULLS LAST, listing_month_usd DESC NULLS LAST, offered DESC, skill, project, person, model;
