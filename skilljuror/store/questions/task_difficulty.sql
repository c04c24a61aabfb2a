-- question: Which tasks of a pilot study are hard enough, without a Skill and with the source at hand?
-- section: RQ2
-- grain: one row is one task and one pair of arms that differ in the Skill alone: without one, and with the source
-- columns: task, verdict, without_arm, without_trials, without_passes, without_rate, with_arm, with_trials,
--   with_passes, with_rate, reason
-- arms: without_arm, with_arm
-- params: with=null, without_below=0.2, with_below=0.5
-- read: The limits are those of SkillGenBench; a rate at its limit is too easy. A rate over few trials is a guess: look
--   at passes and trials. Whether a task can be solved, `check --prove` shows, or an arm with a reference Skill. If the
--   tasks were made from the Skill itself, `origin` offers that Skill: name the arm of its own sources with `with`.
-- empty: The study has no arm without a Skill and none with the source as given (`variant: origin`); `--param with=ARM`
--   names another.
-- column verdict: hard enough, if both rates are below their limits; too easy, if one is not; else unknown
-- column without_trials: usable trials with a verifier, of the arm without a Skill
-- column without_passes: strict passes among these
-- column without_rate: passes / trials; below without_below if the task is hard enough
-- column with_arm: an arm with a Skill: the parameter `with`; by default that of the variant origin, or of the
--   source by its path
-- column with_rate: passes / trials; below with_below if the task is hard enough
-- column reason: why a rate is null
WITH arms AS (
    SELECT t.task, t.position AS task_position, c.condition AS arm, c.position, c.setting, c.variant IS NULL AS bare
    FROM tasks AS t
    CROSS JOIN conditions AS c
    LEFT JOIN given_skills AS g ON g.task = t.task AND g.condition = c.condition
    WHERE bare OR if(
        CAST($with AS VARCHAR) IS NULL,
        c.variant = 'origin' OR (g.path = t.skills AND g.git_commit IS NULL),
        c.condition = CAST($with AS VARCHAR)
    )
),
rated AS (
    SELECT
        a.*,
        count(r.strict) FILTER (r.usable) AS trials,
        if(trials = 0, NULL, count(*) FILTER (r.usable AND r.strict)) AS passes,
        passes / nullif(trials, 0) AS rate,
        CASE
            WHEN trials > 0 THEN NULL
            WHEN count(r.run) = 0 THEN 'not planned in ' || a.arm
            WHEN NOT bool_or(r.verified) THEN 'no verifier in ' || a.arm
            ELSE usable_words(a.arm, list(r.unusable))
        END AS reason
    FROM arms AS a
    LEFT JOIN arm_runs AS r ON r.task = a.task AND r.condition = a.arm
    GROUP BY a.task, a.task_position, a.arm, a.position, a.setting, a.bare
),
pairs AS (
    SELECT
        coalesce(n.task, w.task) AS task,
        n.arm AS without_arm, n.trials AS without_trials, n.passes AS without_passes, n.rate AS without_rate,
        w.arm AS with_arm, w.trials AS with_trials, w.passes AS with_passes, w.rate AS with_rate,
        nullif(concat_ws('; ',
            if(n.arm IS NULL, 'no arm without a Skill to pair with ' || w.arm, n.reason),
            if(w.arm IS NULL, concat(
                coalesce(CAST($with AS VARCHAR) || ' is no arm with a Skill', 'no arm with the source as given'),
                ' to pair with ', n.arm
            ), w.reason)
        ), '') AS reason,
        coalesce(n.task_position, w.task_position) AS task_position, n.position AS without_position,
        w.position AS with_position
    FROM (FROM rated WHERE bare) AS n
    FULL JOIN (FROM rated WHERE NOT bare) AS w ON w.task = n.task AND w.setting = n.setting
)
SELECT
    task,
    CASE
        WHEN NOT (CAST($without_below AS DOUBLE) BETWEEN 0 AND 1 AND CAST($with_below AS DOUBLE) BETWEEN 0 AND 1)
            THEN 'unknown: without_below and with_below must be between 0 and 1'
        WHEN without_rate >= CAST($without_below AS DOUBLE) THEN 'too easy without the Skill'
        WHEN with_rate >= CAST($with_below AS DOUBLE) THEN 'too easy with the source'
        ELSE coalesce('unknown: ' || reason, 'hard enough')
    END AS verdict,
    without_arm, without_trials, without_passes, without_rate, with_arm, with_trials, with_passes, with_rate, reason
FROM pairs
ORDER BY task_position, without_position, with_position;
