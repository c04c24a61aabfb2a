-- question: Which version of a skill did runs see, and at what cost?
-- section: RQ3
-- grain: one row is one skill, version (or reason why it is unknown), week if asked for, and judge
-- columns: skill, version, version_reason, week, judge, first_seen, last_seen, runs, offered, opened, open_rate,
--   open_reason, offered_after, change, change_low, change_high, change_reason, uptake_low, uptake_high, uptake_reason,
--   tokens_shown, run_tokens, run_tokens_known, whole_run_usd, whole_run_usd_known, run_reason, price_dates
-- first: skill, version, runs, last_seen, open_rate, change, tokens_shown, whole_run_usd, first_seen, version_reason
-- sums: tokens_shown
-- place: 4
-- params: since=null, skill=null, judge=null, weekly=false, rows=all|changed|unknown
-- read: Logs as found; the versions of a planned study are its variants. A version is the text of SKILL.md that a
--   log shows whole; a change of its description or other files is none. Text that the agent fills in (arguments,
--   output of commands) makes versions of its own. A run that did not open the skill shows no version: it counts
--   as offered between the first and last sight of one, and of the newest version after the last, too. A run's
--   tokens and dollars are those of the whole run, for each skill that it opened; do not add them up over skills.
-- empty: No log as found opened a skill, or none began after `since`; `skilljuror query STUDY usage` shows what was
--   offered.
-- null whole_run_usd: no run has both its tokens and a price of its model; run_reason says which is missing
-- column version: first 12 digits of the digest of the text
-- column version_reason: shown_in_part, several_texts in one run, text_not_logged, or root_not_shown (only other
--   files were opened)
-- column week: Monday of the week in which the run started, with `weekly=true`
-- column first_seen: start of the first run that was shown it, over all runs
-- column runs: runs that opened the skill and saw this version
-- column offered: runs that were offered it, by their log, and started between those of the first and last sight;
--   these two, which opened it by definition, do not count, nor do runs in which that is unknown. Of the newest
--   version, all after the first sight
-- column opened: of these, runs that activated, read, ran or imported any of its resources
-- column open_reason: unknown_version, no_times, other_version_between (also seen in that time) or no_offer_between
-- column offered_after: runs that were offered it after the last sight and before the first of the next version; of
--   which of both is unknown, so they are in no rate: if they are many, one of both was not opened
-- column change: open_rate minus that of the version before, a fraction
-- column change_low: lower end of Newcombe's 95 % interval of the change
-- column change_reason: first_version, no_open_rate (of one of both) or by_week
-- column uptake_low: of `runs`, those with at least one use labelled yes; null unless every use was judged
-- column uptake_high: the same, counting every open use as yes
-- column tokens_shown: estimated tokens of the skill's text that reached a context, at four bytes a token
-- column run_tokens: mean of all tokens, cached or not, of the runs that report them
-- column whole_run_usd: mean cost at the dated list price, of the runs whose tokens and price are known
-- column run_reason: reasons of the runs without a cost; no_run in a week in which none saw it
WITH seen AS (
    SELECT
        e.trajectory, n.name AS skill,
        count(DISTINCT text_digest) AS texts, min(text_digest) AS digest,
        bool_or(content_exposed = 'full') AS whole, bool_or(content_exposed = 'partial') AS part
    FROM events AS e JOIN skill_names AS n USING (trajectory, skill)
    WHERE resource = 'SKILL.md' AND counted GROUP BY ALL
),
found AS (
    SELECT
        s.*, t.started_at, if(CAST($weekly AS BOOLEAN), date_trunc('week', started_at)::DATE, NULL) AS week,
        CASE WHEN opened AND v.texts = 1 THEN v.digest END AS version,
        CASE
            WHEN v.texts > 1 THEN 'several_texts'
            WHEN v.texts = 1 THEN NULL
            WHEN v.whole THEN 'text_not_logged'
            WHEN v.part THEN 'shown_in_part'
            ELSE 'root_not_shown'
        END AS version_reason
    FROM skill_runs AS s
    JOIN trajectories AS t ON t.trajectory = s.trajectory AND t.trial IS NULL
    LEFT JOIN seen AS v ON v.trajectory = s.trajectory AND v.skill = s.skill
    WHERE CAST($skill AS VARCHAR) IS NULL OR CAST($skill AS VARCHAR) IN (s.skill, regexp_extract(s.skill, '[^:]*$'))
),
sights AS (
    SELECT skill, version, min(started_at) AS first_seen, max(started_at) AS last_seen
    FROM found WHERE version IS NOT NULL GROUP BY ALL
),
ordered AS (
    SELECT
        *,
        row_number() OVER (PARTITION BY skill ORDER BY first_seen, version) AS place,
        lead(first_seen) OVER (PARTITION BY skill ORDER BY first_seen, version) AS next_seen
    FROM sights
),
spans AS (
    SELECT
        *,
        EXISTS (
            SELECT 1 FROM found AS f
            WHERE f.skill = s.skill AND f.version <> s.version
                AND f.started_at >= s.first_seen AND (f.started_at <= s.last_seen OR s.next_seen IS NULL)
        ) AS mixed
    FROM ordered AS s
),
asked AS (
    SELECT * FROM found
    WHERE CAST($since AS VARCHAR) IS NULL
        OR (started_at >= CAST($since AS TIMESTAMP) AND started_at <= make_timestamp(epoch_us(now())))
),
facts AS (  -- what a run says of the version it saw, of the one between whose sights it was offered the skill, or after
    SELECT skill, version, version_reason, week, trajectory, uses, bytes, opened, false AS between
    FROM asked WHERE opened
    UNION ALL
    SELECT a.skill, s.version, NULL, a.week, a.trajectory, 0, 0, a.opened, true
    FROM asked AS a
    JOIN spans AS s ON s.skill = a.skill AND NOT s.mixed
        AND a.started_at > s.first_seen AND (a.started_at < s.last_seen OR s.next_seen IS NULL)
    WHERE a.offered AND a.opened IS NOT NULL
    UNION ALL
    SELECT a.skill, s.version, NULL, a.week, a.trajectory, 0, 0, a.opened, NULL
    FROM asked AS a
    JOIN spans AS s ON s.skill = a.skill AND NOT s.mixed
        AND a.started_at > s.last_seen AND a.started_at < s.next_seen
    WHERE a.offered
),
judges AS (
    SELECT DISTINCT judge FROM verdicts
    WHERE CAST($judge AS VARCHAR) IS NULL OR judge = CAST($judge AS VARCHAR)
),
labels AS (
    SELECT
        v.trajectory, n.name AS skill, v.judge, sum(v.events) AS judged,
        sum(CASE WHEN label = 'yes' THEN v.events WHEN label = 'no' OR is_open(label, category) THEN 0 END) AS low,
        sum(CASE WHEN label = 'yes' OR is_open(label, category) THEN v.events WHEN label = 'no' THEN 0 END) AS high
    FROM verdict_counts AS v JOIN skill_names AS n ON n.trajectory = v.trajectory AND n.skill = v.skill
    GROUP BY v.trajectory, n.name, v.judge
),
costs AS (
    SELECT
        trial AS trajectory,
        max(value) FILTER (WHERE metric = 'total_tokens') AS tokens,
        max(value) FILTER (WHERE metric = 'cost_usd') AS usd,
        max(reason) FILTER (WHERE metric = 'cost_usd') AS reason,
        strftime(
            strptime(max(value::INTEGER::VARCHAR) FILTER (WHERE metric = 'price_date'), '%Y%m%d'), '%Y-%m-%d'
        ) AS priced
    FROM measures WHERE metric IN ('total_tokens', 'cost_usd', 'price_date') GROUP BY ALL
),
sums AS (
    SELECT
        f.skill, f.version, f.version_reason, f.week, j.judge,
        count(*) FILTER (WHERE NOT between) AS runs,
        count(*) FILTER (WHERE between) AS offered,
        count(*) FILTER (WHERE between AND f.opened) AS opened,
        count(*) FILTER (WHERE between IS NULL) AS offered_after,
        count(*) FILTER (WHERE NOT between AND l.low > 0) AS uptake_low,
        count(*) FILTER (WHERE NOT between AND l.high > 0) AS uptake_high,
        coalesce(sum(l.judged) FILTER (WHERE NOT between), 0) AS judged,
        sum(f.uses) AS uses, sum(f.bytes) AS bytes,
        avg(c.tokens) FILTER (WHERE NOT between) AS run_tokens,
        count(c.tokens) FILTER (WHERE NOT between) AS run_tokens_known,
        avg(c.usd) FILTER (WHERE NOT between) AS whole_run_usd,
        count(c.usd) FILTER (WHERE NOT between) AS whole_run_usd_known,
        string_agg(DISTINCT c.reason, ', ' ORDER BY c.reason) FILTER (WHERE NOT between) AS run_reason,
        string_agg(DISTINCT c.priced, ', ' ORDER BY c.priced) FILTER (WHERE NOT between) AS price_dates
    FROM facts AS f
    LEFT JOIN judges AS j ON true
    LEFT JOIN labels AS l ON l.trajectory = f.trajectory AND l.skill = f.skill AND l.judge = j.judge
    LEFT JOIN costs AS c ON c.trajectory = f.trajectory
    GROUP BY ALL
),
rated AS (
    SELECT
        s.* EXCLUDE (offered, opened), p.place, p.first_seen, p.last_seen,
        if(s.version IS NULL OR p.mixed, NULL, offered) AS offered, if(s.version IS NULL OR p.mixed, NULL, opened) AS opened,
        CASE
            WHEN s.version IS NULL THEN 'unknown_version'
            WHEN p.first_seen IS NULL THEN 'no_times'
            WHEN p.mixed THEN 'other_version_between'
            WHEN offered = 0 THEN 'no_offer_between'
        END AS open_reason
    FROM sums AS s
    LEFT JOIN spans AS p ON p.skill = s.skill AND p.version = s.version
)
SELECT
    r.skill, left(r.version, 12) AS version, r.version_reason, r.week, r.judge, r.first_seen, r.last_seen, r.runs,
    r.offered, r.opened, r.opened / nullif(r.offered, 0) AS open_rate, r.open_reason,
    r.offered_after,
    r.opened / nullif(r.offered, 0) - b.opened / nullif(b.offered, 0) AS change,
    newcombe_low(r.opened, r.offered, b.opened, b.offered) AS change_low,
    newcombe_high(r.opened, r.offered, b.opened, b.offered) AS change_high,
    CASE
        WHEN CAST($weekly AS BOOLEAN) THEN 'by_week'
        WHEN r.place = 1 THEN 'first_version'
        WHEN r.open_reason IS NOT NULL OR b.open_reason IS NOT NULL OR b.skill IS NULL THEN 'no_open_rate'
    END AS change_reason,
    if(r.judged = r.uses, r.uptake_low, NULL) AS uptake_low,
    if(r.judged = r.uses, r.uptake_high, NULL) AS uptake_high,
    CASE
        WHEN r.judged = r.uses THEN NULL
        WHEN r.judged = 0 THEN 'not_judged'
        ELSE 'judged_in_part'
    END AS uptake_reason,
    CAST(round(r.bytes / 4) AS BIGINT) AS tokens_shown,
    r.run_tokens, r.run_tokens_known, r.whole_run_usd, r.whole_run_usd_known,
    if(r.runs = 0, 'no_run', r.run_reason) AS run_reason, r.price_dates
FROM rated AS r
LEFT JOIN rated AS b ON NOT CAST($weekly AS BOOLEAN)
    AND b.skill = r.skill AND b.place = r.place - 1 AND b.judge IS NOT DISTINCT FROM r.judge
WHERE CASE CAST($rows AS VARCHAR)
    WHEN 'changed' THEN change_low > 0 OR change_high < 0 WHEN 'unknown' THEN change_reason = 'no_open_rate' ELSE true
END
ORDER BY max(r.last_seen) OVER (PARTITION BY r.skill) DESC NULLS LAST, r.skill, r.week DESC NULLS LAST, r.place DESC NULLS LAST, r.version_reason, r.judge;
