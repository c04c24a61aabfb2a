-- question: Which text was an agent shown that no agent of its arm should see?
-- section: RQ2
-- grain: one row is one kind of text in one condition
-- columns: condition, kind, trials, searched_trials, contaminated_trials, found, searched, null_found, null_searched
-- read: Looked for are the Skill in arms without one, what is peculiar to another layout in arms with one,
--   verifier and solution in all. null_found is the same search with another task's text: what is found by chance.
-- empty: Nothing was looked for: the study was run by an older version, or its logs were found.
--   Run it again with `skilljuror run STUDY.yaml --out STUDY` and ingest it again.
-- null null_found: No other task of the study has text of its own to search for.
-- null null_searched: No other task of the study has text of its own to search for.
-- column kind: skill, layout (peculiar to another layout), verifier or solution
-- column trials: trials with a log that could be read
-- column searched_trials: those in which at least one fingerprint was looked for
-- column found: fingerprints shown, summed over trials
-- column searched: fingerprints looked for, summed over trials
SELECT
    r.condition,
    s.kind,
    count(*) AS trials,
    count(*) FILTER (WHERE s.searched > 0) AS searched_trials,
    count(*) FILTER (WHERE s.contaminated) AS contaminated_trials,
    CAST(sum(s.found) AS BIGINT) AS found,
    CAST(sum(s.searched) AS BIGINT) AS searched,
    CAST(sum(s.null_found) AS BIGINT) AS null_found,
    CAST(sum(s.null_searched) AS BIGINT) AS null_searched
FROM leak_searches AS s
JOIN runs AS r ON r.run = s.trajectory
GROUP BY r.condition, r.position, s.kind
ORDER BY r.position, r.condition, s.kind;
