-- question: How much of the possible gain did the treatment achieve, and how many more tokens did it use?
-- section: RQ2
-- grain: one row is the contrast
-- columns: treatment, control, tasks, strict_treatment, strict_control, strict_gain, reward_treatment,
--   reward_control, reward_gain, token_tasks, tokens_treatment, tokens_control, token_overhead,
--   cost_efficiency, quadrant
-- arms: treatment, control
-- whole: strict_treatment, strict_control, strict_gain, reward_treatment, reward_control, reward_gain,
--   cost_efficiency, quadrant
-- params: treatment=null, control=null
-- read: For comparison with benchmarks that print these numbers. Do not rank by cost_efficiency: a treatment
--   that is worse and cheaper has a positive value too, so read it with the quadrant.
-- empty: The database has no two conditions of a study to compare. For foreign logs, `skilljuror query STUDY
--   observed_outcomes` shows the outcomes of their trials.
-- column strict_treatment: mean over tasks of the strict pass rate over planned trials
-- column strict_gain: (treatment - control) / (1 - control); null if the control rate is 1
-- column reward_treatment: mean over tasks of the mean reward per planned trial, a missing one as 0
-- column token_tasks: tasks with a known total of tokens in both arms
-- column tokens_treatment: mean over these tasks of the mean total tokens of a trial, including cache
-- column token_overhead: (treatment - control) / control of these means
-- column cost_efficiency: difference of the strict rates / token_overhead; null if either is 0
WITH contrast AS (
    SELECT
        coalesce(CAST($treatment AS VARCHAR), (SELECT max(treatment) FROM study)) AS treatment,
        coalesce(CAST($control AS VARCHAR), (SELECT max(control) FROM study)) AS control
),
cells AS (
    SELECT
        r.condition, r.task,
        avg(if(r.reward = 1, 1, 0)) AS strict,  -- a missing reward is no pass
        avg(coalesce(r.reward, 0)) AS reward,  -- the planned frame: a missing reward is 0
        avg(m.value) AS tokens
    FROM arm_runs AS r
    LEFT JOIN measures AS m ON r.usable AND m.trial = r.run AND m.metric = 'total_tokens' AND m.key = ''
    WHERE r.status <> 'observed'
    GROUP BY r.condition, r.task
),
means AS (
    SELECT
        k.treatment,
        k.control,
        count(*) AS tasks,
        avg(t.strict) AS strict_treatment,
        avg(c.strict) AS strict_control,
        avg(t.reward) AS reward_treatment,
        avg(c.reward) AS reward_control,
        count(t.tokens + c.tokens) AS token_tasks,
        avg(t.tokens) FILTER (WHERE c.tokens IS NOT NULL) AS tokens_treatment,
        avg(c.tokens) FILTER (WHERE t.tokens IS NOT NULL) AS tokens_control
    FROM contrast AS k
    JOIN cells AS t ON t.condition = k.treatment
    JOIN cells AS c ON c.condition = k.control AND c.task = t.task
    GROUP BY k.treatment, k.control
),
priced AS (
    SELECT
        *,
        strict_treatment - strict_control AS delta,
        token_overhead(tokens_control, tokens_treatment) AS overhead
    FROM means
)
SELECT
    treatment, control, tasks,
    strict_treatment, strict_control, normalised_gain(strict_control, strict_treatment) AS strict_gain,
    reward_treatment, reward_control, normalised_gain(reward_control, reward_treatment) AS reward_gain,
    token_tasks, tokens_treatment, tokens_control,
    overhead AS token_overhead,
    cost_efficiency(delta, overhead) AS cost_efficiency,
    cost_quadrant(delta, overhead) AS quadrant
FROM priced;
