-- question: How many files were read, skipped or unreadable?
-- section: overview
-- grain: one row is one status, format and reason
-- columns: status, format, reason, files, bytes
-- empty: No file was ingested yet. `skilljuror ingest --study STUDY` reads a study's trials, and the logs at
--   any paths that you add.
-- column reason: why the files were skipped or could not be read; null for a part
-- read: "part": read together with another file, such as a sub-agent's log with its session; "skipped": no
--   known format; "duplicate": another capture of the same run was better; "error": a known format that could
--   not be read. With many errors, the figures rest on less data than was found.
WITH found AS (SELECT status, format, size, if(status = 'part', NULL, reason) AS reason FROM sources)
SELECT status, format, reason, count(*) AS files, CAST(sum(size) AS BIGINT) AS bytes
FROM found
GROUP BY status, format, reason
ORDER BY list_position(['parsed', 'part', 'error', 'duplicate', 'skipped'], status), files DESC, format, reason;
