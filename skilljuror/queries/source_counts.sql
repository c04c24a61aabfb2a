-- question: What became of the files that were looked at?
-- section: overview
-- grain: one row is one status, format and reason
-- columns: status, format, reason, files, bytes
-- params: reasons=all
-- empty: No file was looked at yet: `skilljuror ingest --study STUDY` reads a study's trials, with
--   paths the logs that lie there.
-- column reason: with reasons=harmless null for an error, which may quote a path or a text; why a file
--   was skipped or passed over is said in our own words
-- read: "skipped" means that no format claims the file, "duplicate" that another capture of the same
--   run was better, "error" that a format claims it and it cannot be read. A long tail of errors means
--   that the figures rest on less than was found.
WITH found AS (
    SELECT
        status, format, size,
        if(
            CAST($reasons AS VARCHAR) = 'all' OR status IN ('parsed', 'duplicate', 'skipped'), reason, NULL
        ) AS reason
    FROM sources
)
SELECT status, format, reason, count(*) AS files, CAST(sum(size) AS BIGINT) AS bytes
FROM found
GROUP BY status, format, reason
ORDER BY list_position(['parsed', 'error', 'duplicate', 'skipped'], status), files DESC, format, reason;
