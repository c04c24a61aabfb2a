-- question: How did the trials end that the logs belong to?
-- section: RQ2
-- grain: one row is one task, agent and model
-- columns: task, agent, model, trials, scored, strict_passes, mean_reward, exceptions, opened,
--   reward_opened, reward_not_opened
-- read: A harness wrote these outcomes beside the logs; nobody planned the trials for this study.
--   The two mean rewards are not an effect: which trials open a Skill is the agent's choice.
-- column trials: foreign trials whose result stands beside their log
-- column scored: trials with a reward
-- column strict_passes: trials with reward 1 exactly
-- column mean_reward: over the scored trials
-- column exceptions: trials that did not end cleanly; they may have a reward all the same
-- column opened: trials in which a resource of a Skill was opened, not counting the agent's own
-- column reward_opened: mean reward of these; null when none of them is scored
WITH opening AS (
    SELECT trajectory FROM uses WHERE opens AND ok IS NOT false GROUP BY trajectory
)
SELECT
    t.task, t.agent, t.model,
    count(*) AS trials,
    count(t.reward) AS scored,
    count(*) FILTER (WHERE t.reward = 1) AS strict_passes,
    avg(t.reward) AS mean_reward,
    count(t.exception) AS exceptions,
    count(o.trajectory) AS opened,
    avg(t.reward) FILTER (WHERE o.trajectory IS NOT NULL) AS reward_opened,
    avg(t.reward) FILTER (WHERE o.trajectory IS NULL) AS reward_not_opened
FROM trajectories AS t
LEFT JOIN opening AS o ON o.trajectory = t.trajectory
WHERE t.trial IS NULL AND t.task IS NOT NULL
GROUP BY t.task, t.agent, t.model
ORDER BY t.task, t.agent, t.model;
