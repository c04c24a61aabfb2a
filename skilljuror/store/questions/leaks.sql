-- question: Which texts did an agent see that its arm must not show?
-- section: RQ2
-- grain: one row is one kind of text in one condition
-- columns: condition, kind, trials, searched_trials, contaminated_trials, found, searched, null_found, null_searched
-- read: Every arm is searched for each Skill and layout that it does not offer, and for verifier and
--   solution. null_found is the same search with another task's text: matches by chance.
-- empty: No search was made: the study was run by an older version, or its logs are foreign. Run it again
--   with `skilljuror run STUDY.yaml --out STUDY` and ingest it again.
-- null null_found: no other task of the study has text of its own to search for
-- null null_searched: no other task of the study has text of its own to search for
-- column kind: skill, layout (peculiar to another layout), verifier or solution
-- column trials: trials with a readable log
-- column searched_trials: trials with a search for at least one fingerprint
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
