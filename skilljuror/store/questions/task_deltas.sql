-- question: On which tasks does the treatment win or lose?
-- section: RQ2
-- grain: one row is one task planned in both arms
-- columns: task, treatment, control, treatment_passes, treatment_trials, control_passes,
--   control_trials, delta_passes, delta_rate, result, treatment_reward, control_reward,
--   treatment_final, control_final
-- arms: treatment, control
-- whole: delta_passes, delta_rate, result, treatment_reward, control_reward
-- params: treatment=null, control=null
-- read: Trials of one task are exchangeable, so only their counts are compared. Most tasks of a study tie and
--   a few decide the mean; therefore the interval is taken over tasks.
-- empty: The database has no two conditions of a study to compare. For foreign logs, `skilljuror query STUDY
--   observed_outcomes` shows the outcomes of their trials, by task.
-- column delta_passes: strict passes of the treatment minus those of the control; null if the arms planned
--   unequal numbers of trials
-- column delta_rate: difference of the pass rates, a fraction
-- column result: win, tie or loss of the treatment, by cross-multiplied counts
-- column treatment_reward: mean reward per planned trial, counting a missing reward as 0
-- column treatment_final: trials with a final outcome
WITH contrast AS (
    SELECT
        coalesce(CAST($treatment AS VARCHAR), (SELECT max(treatment) FROM study)) AS treatment,
        coalesce(CAST($control AS VARCHAR), (SELECT max(control) FROM study)) AS control
),
cells AS (
    SELECT
        condition,
        task,
        count(*) AS trials,
        count(*) FILTER (WHERE reward = 1) AS passes,
        count(*) FILTER (WHERE final) AS final,
        sum(coalesce(reward, 0)) / count(*) AS reward  -- the planned frame: a missing reward is 0
    FROM runs
    WHERE status <> 'observed' AND verified
    GROUP BY condition, task
)
SELECT
    t.task,
    t.condition AS treatment,
    c.condition AS control,
    t.passes AS treatment_passes,
    t.trials AS treatment_trials,
    c.passes AS control_passes,
    c.trials AS control_trials,
    if(t.trials = c.trials, t.passes - c.passes, NULL) AS delta_passes,
    t.passes / t.trials - c.passes / c.trials AS delta_rate,
    CASE sign(t.passes * c.trials - c.passes * t.trials)
        WHEN 1 THEN 'win' WHEN 0 THEN 'tie' ELSE 'loss'
    END AS result,
    t.reward AS treatment_reward,
    c.reward AS control_reward,
    t.final AS treatment_final,
    c.final AS control_final
FROM contrast AS k
JOIN cells AS t ON t.condition = k.treatment
JOIN cells AS c ON c.condition = k.control AND c.task = t.task
ORDER BY delta_rate DESC, t.task;
