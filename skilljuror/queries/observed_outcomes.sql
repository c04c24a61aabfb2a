-- question: How did the trials end that the logs belong to?
-- section: RQ2
-- grain: one row is one task, agent and model
-- columns: task, agent, model, trials, scored, strict_passes, mean_reward, exceptions, logged,
--   opened, reward_opened, reward_not_opened
-- read: A harness wrote these outcomes beside the logs; nobody planned the trials for this study.
--   A trial that left no log is among them, and is neither opened nor not opened: that is not known.
--   The two mean rewards are not an effect: which trials open a Skill is the agent's choice.
-- empty: No log lies in a trial folder of a harness whose result could be read. How the trials of a
--   study ended is told by `skilljuror query STUDY outcomes`.
-- column model: without its provider, which a log may leave out and a result tell
-- column trials: foreign trials with a result, those without a log included
-- column scored: trials with a reward
-- column strict_passes: trials with reward 1 exactly
-- column mean_reward: over the scored trials
-- column exceptions: trials that did not end cleanly; they may have a reward all the same
-- column logged: trials whose log could be read; the columns after it are over these alone
-- column opened: logged trials in which a resource of a Skill was opened, not counting the agent's own
-- column reward_opened: mean reward of these; null when none of them is scored
-- column reward_not_opened: mean reward of the other logged trials; null when none of them is scored
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
