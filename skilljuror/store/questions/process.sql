-- question: Did the layout change how agents use the Skill?
-- section: RQ3
-- grain: one row is one condition
-- columns: condition, trials, readable, skill_step_share, skill_step_share_pooled,
--   skill_token_share, skill_token_share_pooled, token_share_trials, skill_text_share,
--   support_read_trials, script_trials, helper_trials, fanout, fanout_support
-- first: condition, trials, skill_step_share, fanout, support_read_trials, script_trials, helper_trials
-- place: 9
-- arms: condition
-- read: These numbers come from the logs alone, by fixed rules. They count the resources that were touched,
--   not whether they helped; for that, see uptake.
-- null skill_token_share: tokens were not counted. Run `skilljuror ingest --count-tokens --study STUDY` (with
--   the paths of foreign logs); skill_text_share is the share in bytes, which is a different number
-- column trials: planned trials; in observed mode, runs and trials without a log
-- column readable: usable trials with a readable log; every mean and count is over these
-- column skill_step_share: mean over trials of Skill-related steps / all steps of the main agent
-- column skill_step_share_pooled: the same share over the steps of all trials together
-- column skill_token_share: mean over trials of tokens of Skill-related steps / tokens of all steps
-- column skill_token_share_pooled: the same share over the tokens of all these trials together
-- column token_share_trials: trials with tokens counted for every step
-- column skill_text_share: skill_token_share in bytes instead of tokens; a proxy, never a substitute
-- column support_read_trials: trials that read content of a support file
-- column script_trials: trials that ran a bundled script
-- column helper_trials: trials that read, searched or imported bundled code
-- column fanout: mean number of distinct Skill resources touched, including SKILL.md
-- column fanout_support: the same without SKILL.md
WITH found AS (
    SELECT r.condition, r.position, r.run, r.readable, m.metric, m.value
    FROM arm_runs AS r
    LEFT JOIN measures AS m
        ON r.usable AND m.trial = r.run
        AND m.key = ''
        AND m.metric IN (
            'agent_steps', 'skill_steps', 'skill_step_share', 'step_tokens', 'skill_step_tokens',
            'skill_token_share', 'skill_text_share', 'support_read', 'script_exec', 'helper_use',
            'fanout', 'fanout_support'
        )
)
SELECT
    condition,
    count(DISTINCT run) AS trials,
    count(DISTINCT run) FILTER (WHERE readable) AS readable,
    avg(value) FILTER (WHERE metric = 'skill_step_share') AS skill_step_share,  -- the headline (A-17)
    sum(value) FILTER (WHERE metric = 'skill_steps')
        / nullif(sum(value) FILTER (WHERE metric = 'agent_steps'), 0) AS skill_step_share_pooled,
    avg(value) FILTER (WHERE metric = 'skill_token_share') AS skill_token_share,
    sum(value) FILTER (WHERE metric = 'skill_step_tokens')
        / nullif(sum(value) FILTER (WHERE metric = 'step_tokens'), 0) AS skill_token_share_pooled,
    count(value) FILTER (WHERE metric = 'skill_token_share') AS token_share_trials,
    avg(value) FILTER (WHERE metric = 'skill_text_share') AS skill_text_share,
    CAST(sum(value) FILTER (WHERE metric = 'support_read') AS BIGINT) AS support_read_trials,
    CAST(sum(value) FILTER (WHERE metric = 'script_exec') AS BIGINT) AS script_trials,
    CAST(sum(value) FILTER (WHERE metric = 'helper_use') AS BIGINT) AS helper_trials,
    avg(value) FILTER (WHERE metric = 'fanout') AS fanout,
    avg(value) FILTER (WHERE metric = 'fanout_support') AS fanout_support
FROM found
GROUP BY condition, position
ORDER BY position;
