-- question: How many input tokens does the Skill's text cost, by file or kind of unit, and what is everything else?
-- section: RQ2
-- grain: one row is one condition, agent program, and file or kind of unit; or all input, or all but Skill text
-- columns: condition, agent, skill, source, basis, readable, measured, reason, tokens, share, uncached, cached
-- first: source, skill, agent, tokens, share, uncached, cached, basis, condition
-- arms: condition
-- params: by=file, condition=null
-- read: Text that was shown is sent again with each later request of that agent, until a compaction removes it or the
--   run ends: it costs its tokens times these requests. All numbers are means over the measured runs. `by=kind` sums by
--   kind of unit, and text without a known unit by class of file.
-- empty: No log could be read.
-- column source: "all input", "all but Skill text", or a file, or a kind of unit; commands and scripts that were run are
--   no Skill text
-- column basis: measured (by the provider, as logged), estimated (tokens of the text times requests; o200k_base counts
--   those of units, text without a known unit has one for four bytes), or difference of the two
-- column readable: trials or runs whose log could be read
-- column measured: of these, those with input tokens in the log and a complete estimate that is not above them
-- column reason: reasons of the others: no_usage and others of the log; not_counted: no tokens of the text;
--   kept_unknown: the log does not say what a compaction kept; above_total: the estimate exceeds all input tokens,
--   so it is wrong, as for logs that lack requests
-- column tokens: input tokens, cached or not
-- column share: tokens / all input tokens of the measured runs
-- column uncached: input tokens that were not read from a cache. Of Skill text a split: its first request, and of each
--   later one the uncached share of all its input. Null unless known for all measured runs
-- column cached: input tokens read from a cache, split likewise
WITH logs AS (
    SELECT
        r.condition, r.position, t.trajectory, coalesce(t.agent, 'unknown') AS agent, r.task,
        max(m.value) FILTER (WHERE m.key = 'input') + coalesce(max(m.value) FILTER (WHERE m.key = 'cache_write'), 0)
            AS uncached,  -- a class that the log lacks is part of another one
        max(m.value) FILTER (WHERE m.key = 'cache_read') AS cached,
        max(m.reason) FILTER (WHERE m.key = 'input') AS reason
    FROM trajectories AS t
    JOIN arm_runs AS r ON r.usable AND r.run = coalesce(t.trial, t.trajectory)
    LEFT JOIN measures AS m ON m.trial = r.run AND m.metric = 'tokens'
    WHERE CAST($condition AS VARCHAR) IS NULL OR r.condition = CAST($condition AS VARCHAR)
    GROUP BY ALL
),
shown AS (
    SELECT
        x.trajectory, x.ordinal, if(CAST($by AS VARCHAR) = 'kind', u.kind, NULL) AS kind, sum(x.tokens) AS tokens,
        bool_or(x.tokens IS NULL) AS uncounted
    FROM exposure AS x
    JOIN logs AS l ON l.trajectory = x.trajectory
    LEFT JOIN units AS u ON CAST($by AS VARCHAR) = 'kind' AND u.build = l.task AND u.unit = x.unit
    GROUP BY ALL
),
pieces AS (
    SELECT
        s.trajectory, n.name AS skill, s.agent, s.step, s.until, s.certain,
        CASE CAST($by AS VARCHAR)
            WHEN 'file' THEN s.resource
            WHEN 'kind' THEN if(x.ordinal IS NULL, s.resource_class, x.kind)
            ELSE error('by: choose file or kind')
        END AS source,
        if(x.ordinal IS NULL, s.shown_bytes / 4, x.tokens) AS tokens,
        if(x.ordinal IS NULL, s.shown_bytes IS NULL, x.uncounted) AS uncounted
    FROM stays AS s
    JOIN skill_names AS n ON n.trajectory = s.trajectory AND n.skill = s.skill
    LEFT JOIN shown AS x ON x.trajectory = s.trajectory AND x.ordinal = s.ordinal
    WHERE s.trajectory IN (SELECT trajectory FROM logs)
),
carried AS (
    SELECT
        p.trajectory, p.skill, p.source,
        sum(p.tokens * (coalesce(requests[b], 0) - coalesce(requests[z], 0))) AS tokens,  -- no step, no request
        sum(p.tokens * (cached[b] - cached[a])) AS cached,
        bool_or(split[b] - split[a] < requests[b] - requests[a]) AS unsplit,
        bool_or(p.uncounted) AS uncounted, bool_and(p.certain) AS certain
    FROM (
        SELECT
            p.*, n.* EXCLUDE (trajectory, agent, steps),
            place_of(p.step, n.steps) AS z, place_of(p.until, n.steps) AS b,
            place_of(least(p.step + 1, p.until), n.steps) AS a
        FROM pieces AS p LEFT JOIN request_lists AS n ON n.trajectory = p.trajectory AND n.agent = p.agent
    ) AS p
    GROUP BY ALL
),
by_run AS (
    SELECT
        l.*, l.uncached + coalesce(l.cached, 0) AS total,  -- as above
        coalesce(c.tokens, 0) AS text_tokens,  -- a run without a row was shown no text
        if(c.unsplit OR l.cached IS NULL, NULL, coalesce(c.cached, 0)) AS text_cached,
        CASE
            WHEN l.uncached IS NULL THEN coalesce(l.reason, 'no_usage')
            WHEN NOT c.certain THEN 'kept_unknown'
            WHEN c.uncounted THEN 'not_counted'
            WHEN c.tokens > l.uncached + coalesce(l.cached, 0) THEN 'above_total'
        END AS problem
    FROM logs AS l
    LEFT JOIN (
        SELECT
            trajectory, sum(tokens) AS tokens, sum(cached) AS cached, bool_or(unsplit) AS unsplit,
            bool_or(uncounted) AS uncounted, bool_and(certain) AS certain
        FROM carried GROUP BY trajectory
    ) AS c USING (trajectory)
),
problems AS (
    SELECT condition, agent, string_agg(problem || ' in ' || runs, ', ' ORDER BY problem) AS reason
    FROM (SELECT condition, agent, problem, count(*) AS runs FROM by_run WHERE problem IS NOT NULL GROUP BY ALL)
    GROUP BY ALL
),
groups AS (
    SELECT
        condition, position, agent,
        count(*) AS readable,
        count(*) FILTER (WHERE problem IS NULL) AS measured,
        sum(total) FILTER (WHERE problem IS NULL) AS total,
        sum(text_tokens) FILTER (WHERE problem IS NULL) AS text_tokens,
        if(bool_and(cached IS NOT NULL) FILTER (WHERE problem IS NULL), sum(cached) FILTER (WHERE problem IS NULL), NULL)
            AS cached,
        -- a split that exceeds either class is no split
        if(
            bool_and(
                coalesce(text_cached BETWEEN 0 AND cached AND text_tokens - text_cached <= uncached, false)
            ) FILTER (WHERE problem IS NULL),
            sum(text_cached) FILTER (WHERE problem IS NULL), NULL
        ) AS text_cached
    FROM by_run GROUP BY ALL
),
parts AS (
    SELECT *, NULL AS skill, 'all input' AS source, 'measured' AS basis, total AS tokens, cached AS from_cache, 0 AS place
    FROM groups
    UNION ALL BY NAME
    SELECT
        *, 'all but Skill text' AS source, 'difference' AS basis, total - text_tokens AS tokens,
        cached - text_cached AS from_cache, 1 AS place
    FROM groups
    UNION ALL BY NAME
    SELECT
        g.*, c.skill, c.source, 'estimated' AS basis,
        sum(c.tokens) FILTER (WHERE r.problem IS NULL) AS tokens,
        sum(if(g.text_cached IS NULL, NULL, c.cached)) FILTER (WHERE r.problem IS NULL) AS from_cache, 2 AS place
    FROM groups AS g
    JOIN by_run AS r USING (condition, agent)
    JOIN carried AS c USING (trajectory)
    GROUP BY ALL
)
SELECT
    p.condition, p.agent, p.skill, p.source, p.basis, p.readable, p.measured, q.reason,
    p.tokens / nullif(p.measured, 0) AS tokens,
    p.tokens / nullif(p.total, 0) AS share,
    (p.tokens - p.from_cache) / nullif(p.measured, 0) AS uncached,
    p.from_cache / nullif(p.measured, 0) AS cached
FROM parts AS p
LEFT JOIN problems AS q USING (condition, agent)
ORDER BY p.position, p.agent, p.place, p.tokens DESC NULLS LAST, p.skill, p.source;
