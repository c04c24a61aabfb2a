-- question: What do people say went wrong in the failed trials of the treatment?
-- section: RQ4
-- grain: one row is one condition, list of codes and code
-- columns: condition, list, code, trials, coded, failed, share
-- arms: condition
-- read: A code is a person's reading of a log, no measured effect. People are asked about failed trials alone: the
--   shares say nothing about how often the Skill helps.
-- empty: No trial is coded. `skilljuror review STUDY` asks about the failed trials of the treatment.
-- column list: pattern: how the Skill may have led the trial astray (SkillsBench); failure: what its verifier failed on
--   (SkillGenBench)
-- column code: the code (rubrics/harm.yaml); disputed: people gave several
-- column trials: trials with this code
-- column coded: trials with any code of the list
-- column failed: usable trials of the condition that the verifier did not pass, coded or not
-- column share: trials / coded
WITH failed AS (
    SELECT run, condition, position, count(*) OVER (PARTITION BY condition) AS failed
    FROM arm_runs WHERE usable AND verified AND status <> 'observed' AND reward IS DISTINCT FROM 1
),
codes AS (
    SELECT
        f.condition, f.position, f.failed, k.list, k.trial,
        if(count(DISTINCT k.code) = 1, min(k.code), 'disputed') AS code
    FROM trial_codes AS k JOIN failed AS f ON f.run = k.trial
    GROUP BY ALL
)
SELECT
    condition, list, code,
    count(*) AS trials,
    CAST(sum(count(*)) OVER (PARTITION BY condition, list) AS BIGINT) AS coded,
    min(failed) AS failed,
    trials / coded AS share
FROM codes
GROUP BY condition, position, list, code
ORDER BY position, list DESC, trials DESC, code;
