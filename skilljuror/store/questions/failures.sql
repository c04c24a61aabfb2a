-- question: Which kinds of failure did the verifiers' tests report?
-- section: RQ2
-- grain: one row is one condition and label
-- columns: condition, label, checks, errors, trials, failure_share
-- place: 11
-- arms: condition
-- read: Labels come from the words of the assertion alone, by rules. One trial can fail many tests for one reason:
--   compare the numbers of trials, too.
-- empty: No usable trial has a failed test, or no verifier wrote a report (CTRF, JUnit XML or
--   reward-details.json) in its log folder.
-- column label: asset: a demanded file is absent or unreadable; runtime: code did not run, or the test itself broke;
--   interface: another key, column, argument, type or shape; numeric: a comparison of two numbers; rule: any other
--   comparison; unclassified: no rule fits
-- column checks: failed tests of usable trials
-- column errors: of these, tests that broke, as in a fixture
-- column trials: trials with such a test
-- column failure_share: checks / all failed tests of the condition, a fraction
SELECT
    r.condition, coalesce(c.label, 'unclassified') AS label,
    count(*) AS checks,
    count(*) FILTER (WHERE c.outcome = 'error') AS errors,
    count(DISTINCT r.run) AS trials,
    count(*) / sum(count(*)) OVER (PARTITION BY r.condition) AS failure_share
FROM arm_runs AS r
JOIN check_results AS c ON c.trial = r.run AND c.item_group IS NULL AND c.outcome IN ('failed', 'error')
WHERE r.usable
GROUP BY r.condition, r.position, c.label
ORDER BY r.position, checks DESC, label;
