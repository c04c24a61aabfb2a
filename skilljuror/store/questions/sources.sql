-- question: Which files were read, and why were the others skipped?
-- section: lists
-- grain: one row is one file or folder that ingest found
-- columns: path, status, format, reason, size, unknown_tools
-- first: status, reason, path, format, size, unknown_tools
-- place: 12
-- params: status=null
-- empty: No file was ingested yet. `skilljuror ingest --study STUDY` reads a study's trials, and the logs at
--   any paths that you add.
-- column unknown_tools: calls of tools that skilljuror does not know, by name; null without any. What they open is not
--   counted
WITH tools AS (
    SELECT source AS path, string_agg(tool || ' ' || calls, ', ' ORDER BY calls DESC, tool) AS unknown_tools
    FROM unknown_tools JOIN trajectories USING (trajectory)
    GROUP BY source
)
SELECT
    path, status, format, reason, size, unknown_tools
FROM sources LEFT JOIN tools USING (path)
WHERE CAST($status AS VARCHAR) IS NULL OR status = CAST($status AS VARCHAR)
ORDER BY status <> 'error', status, path;
