-- question: Which files were read, and why were the others skipped?
-- section: lists
-- grain: one row is one file or folder that ingest found
-- columns: path, status, format, reason, size
-- params: status=null
-- empty: No file was ingested yet. `skilljuror ingest --study STUDY` reads a study's trials, and the logs at
--   any paths that you add.
SELECT
    path, status, format, reason, size
FROM sources
WHERE CAST($status AS VARCHAR) IS NULL OR status = CAST($status AS VARCHAR)
ORDER BY status, path;
