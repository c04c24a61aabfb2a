-- question: Which trials does the headline use?
-- section: RQ2
-- grain: one row is one planned trial of the contrast
-- columns: task, condition, trial, final, contaminated, flags, suppressed, strict, reward, share, share_reason
-- params: treatment=null, control=null, tasks=null
-- read: There is no headline while a trial is not final. The headline names contaminated trials and is also
--   computed without them.
-- empty: The database has no two conditions of a study to compare. For foreign logs, `skilljuror query STUDY
--   observed_trials` shows the outcomes of their trials.
-- column final: true if the outcome is final: a reward, a timeout, or accepted by a person
-- column contaminated: true if the trial is invalid for its arm (question quality_flags gives the reason)
-- column flags: why it is contaminated; null if it is not
-- column suppressed: under_20_usable if the study demands 20 usable trials and the condition has fewer; else null
-- column strict: true if the reward is exactly 1; a missing reward is not a pass; null if the task has no verifier
-- column reward: reward from the verifier; null if missing
-- column share: points that tests, or items of a rubric, awarded / points (view check_shares); primary_outcome checks
--   has no headline while a trial has none
WITH contrast AS (
    SELECT
        coalesce(CAST($treatment AS VARCHAR), (SELECT max(treatment) FROM study)) AS treatment,
        coalesce(CAST($control AS VARCHAR), (SELECT max(control) FROM study)) AS control
)
SELECT
    r.task,
    r.condition,
    r.run AS trial,
    r.final,
    x.flags IS NOT NULL AS contaminated,
    x.flags,
    if(starts_with(r.unusable, 'under_'), r.unusable, NULL) AS suppressed,
    r.strict,
    r.reward,
    s.share,
    s.reason AS share_reason
FROM contrast AS k
JOIN arm_runs AS r ON r.condition IN (k.treatment, k.control)
LEFT JOIN (
    SELECT trial, string_agg(DISTINCT flag, ', ' ORDER BY flag) AS flags FROM contaminations GROUP BY trial
) AS x ON x.trial = r.run
LEFT JOIN check_shares AS s ON s.trial = r.run
WHERE (CAST($tasks AS VARCHAR) IS NULL OR list_contains(string_split(CAST($tasks AS VARCHAR), ' '), r.task))
ORDER BY r.task, r.condition, r.run;
