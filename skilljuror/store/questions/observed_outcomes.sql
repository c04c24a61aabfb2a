-- question: How did the trials end to which the logs belong?
-- section: RQ2
-- grain: one row is one task, agent and model
-- columns: task, agent, model, trials, scored, strict_passes, mean_reward, exceptions, logged,
--   opened, reward_opened, reward_not_opened
-- first: task, agent, model, trials, scored, strict_passes, mean_reward, opened
-- sums: trials, scored, strict_passes
-- read: A harness wrote these outcomes next to the logs; the trials were not planned for this study. A trial
--   without a log is included, and counts as neither opened nor not opened. The difference of the two mean
--   rewards is not an effect: the agent itself chooses to open a Skill.
-- empty: No log is in a harness trial folder with a readable result. For the trials of a study, see
--   `skilljuror query STUDY outcomes`.
-- column model: without its provider, which a log may omit and a result may name
-- column trials: foreign trials with a result, with or without a log
-- column scored: trials with a reward
-- column strict_passes: trials with reward 1 exactly
-- column mean_reward: over the scored trials
-- column exceptions: trials with an exception; they may have a reward as well
-- column logged: trials with a readable log; the following columns are over these only
-- column opened: logged trials that opened a resource of a Skill, except the agent's own Skills
-- column reward_opened: mean reward of these; null if none is scored
-- column reward_not_opened: mean reward of the other logged trials; null if none is scored
WITH opening AS (
    SELECT trajectory FROM uses WHERE opens AND ok IS NOT false GROUP BY trajectory
),
ends AS (
    SELECT t.task, t.agent, t.model, t.reward, t.exception, true AS logged,
        o.trajectory IS NOT NULL AS opened
    FROM trajectories AS t
    LEFT JOIN opening AS o ON o.trajectory = t.trajectory
    WHERE t.trial IS NULL AND t.task IS NOT NULL
    UNION ALL BY NAME
    SELECT task, agent, model, reward, exception, false AS logged FROM unlogged_trials
)
SELECT
    task, agent,
    regexp_extract(model, '[^/]*$') AS model,
    count(*) AS trials,
    count(reward) AS scored,
    count(*) FILTER (WHERE reward = 1) AS strict_passes,
    avg(reward) AS mean_reward,
    count(exception) AS exceptions,
    count(*) FILTER (WHERE logged) AS logged,
    count(*) FILTER (WHERE opened) AS opened,
    avg(reward) FILTER (WHERE opened) AS reward_opened,
    avg(reward) FILTER (WHERE NOT opened) AS reward_not_opened
FROM ends
GROUP BY ALL
ORDER BY task, agent, model;
