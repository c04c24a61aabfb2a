-- question: How much of the possible gain did the treatment achieve, and how many more tokens did it use?
-- section: RQ2
-- grain: one row is the contrast or, with by=skill, the contrast on the tasks of one source Skill
-- columns: treatment, control, skill, tasks, runs_treatment, runs_control, rate_treatment, rate_control, delta_rate,
--   delta_rate_reason, class, rate_gain, reward_treatment, reward_control, reward_gain, token_tasks, tokens_treatment,
--   tokens_control, token_overhead, cost_efficiency, cost_efficiency_reason, quadrant
-- arms: treatment, control
-- whole: rate_treatment, rate_control, delta_rate, class, rate_gain, reward_treatment, reward_control, reward_gain,
--   cost_efficiency, quadrant
-- params: by=contrast|skill, level=trial|check, treatment=null, control=null, tasks=null
-- read: For comparison with benchmarks that print these numbers. Do not rank by cost_efficiency: a treatment
--   that is worse and cheaper has a positive value too, so read it with the quadrant. One run per arm has no error
--   bar: look at the number of runs.
-- empty: The database has no two conditions of a study to compare. For foreign logs, `skilljuror query STUDY
--   observed_outcomes` shows the outcomes of their trials.
-- column skill: Skills of the source, which all its tasks have with the same files; null for the whole contrast
-- column runs_treatment: planned trials of the treatment
-- column rate_treatment: mean over tasks of the strict pass rate over planned trials; with level=check, of the
--   share of points that a trial earned (view check_shares), null if that of any trial is unknown
-- column delta_rate: rate_treatment - rate_control
-- column class: better or worse; without a difference, perfect if both rates are 1, else same
-- column rate_gain: delta_rate / (1 - rate_control); null if the control rate is 1
-- column reward_treatment: mean over tasks of the mean reward per planned trial, a missing one as 0
-- column token_tasks: tasks with a known total of tokens in both arms
-- column tokens_treatment: mean over these tasks of the mean total tokens of a trial, including cache
-- column token_overhead: (treatment - control) / control of these means
-- column cost_efficiency: delta_rate / token_overhead; null if either is 0
WITH contrast AS (
    SELECT
        coalesce(CAST($treatment AS VARCHAR), (SELECT max(treatment) FROM study)) AS treatment,
        coalesce(CAST($control AS VARCHAR), (SELECT max(control) FROM study)) AS control
),
sources AS (  -- a source is its files, where they are known
    SELECT
        k.task, coalesce(nullif(k.source_digest, ''), k.skills) AS source,
        coalesce(array_to_string(v.skills, ', '), k.skills) AS skill
    FROM tasks AS k
    LEFT JOIN variants AS v ON v.build = k.task AND v.parent IS NULL
),
scores AS (
    SELECT
        r.condition, r.task, m.value AS tokens,
        if(r.verified, coalesce(r.reward, 0), NULL) AS reward,  -- the planned frame: a missing reward is 0
        if($level = 'check', s.share, CAST(r.strict AS INTEGER)) AS score
    FROM arm_runs AS r
    LEFT JOIN check_shares AS s ON s.trial = r.run
    LEFT JOIN measures AS m ON r.usable AND m.trial = r.run AND m.metric = 'total_tokens' AND m.key = ''
    WHERE r.status <> 'observed'
        AND (CAST($tasks AS VARCHAR) IS NULL OR list_contains(string_split(CAST($tasks AS VARCHAR), ' '), r.task))
),
cells AS (
    SELECT
        condition, task,
        count(*) AS runs,
        count(score) AS scored,
        avg(score) AS rate,
        avg(reward) AS reward,
        avg(tokens) AS tokens
    FROM scores
    GROUP BY condition, task
),
means AS (
    SELECT
        k.treatment,
        k.control,
        if($by = 'skill', s.source, NULL) AS source,
        if($by = 'skill', min(s.skill), NULL) AS skill,
        count(*) AS tasks,
        CAST(sum(t.runs) AS BIGINT) AS runs_treatment,
        CAST(sum(c.runs) AS BIGINT) AS runs_control,
        sum(t.runs + c.runs - t.scored - c.scored) AS unscored,
        if(unscored = 0, avg(t.rate), NULL) AS rate_treatment,
        if(unscored = 0, avg(c.rate), NULL) AS rate_control,
        avg(t.reward) AS reward_treatment,
        avg(c.reward) AS reward_control,
        count(t.tokens + c.tokens) AS token_tasks,
        avg(t.tokens) FILTER (WHERE c.tokens IS NOT NULL) AS tokens_treatment,
        avg(c.tokens) FILTER (WHERE t.tokens IS NOT NULL) AS tokens_control
    FROM contrast AS k
    JOIN cells AS t ON t.condition = k.treatment
    JOIN cells AS c ON c.condition = k.control AND c.task = t.task
    JOIN sources AS s ON s.task = t.task
    GROUP BY k.treatment, k.control, if($by = 'skill', s.source, NULL)
),
priced AS (
    SELECT
        *,
        round(rate_treatment - rate_control, 12) AS delta,  -- binary fractions would be a difference
        token_overhead(tokens_control, tokens_treatment) AS overhead,
        if(unscored = 0, NULL, concat(
            unscored, ' of ', runs_treatment + runs_control,
            if($level = 'trial', ' trials have no verifier', ' trials without a share of points')
        )) AS reason
    FROM means
)
SELECT
    treatment, control, skill, tasks, runs_treatment, runs_control,
    rate_treatment, rate_control, delta AS delta_rate, reason AS delta_rate_reason,
    CASE
        WHEN delta > 0 THEN 'better' WHEN delta < 0 THEN 'worse' WHEN delta IS NULL THEN NULL
        ELSE if(rate_control = 1, 'perfect', 'same')
    END AS class,
    normalised_gain(rate_control, rate_treatment) AS rate_gain,
    reward_treatment, reward_control, normalised_gain(reward_control, reward_treatment) AS reward_gain,
    token_tasks, tokens_treatment, tokens_control,
    overhead AS token_overhead,
    cost_efficiency(delta, overhead) AS cost_efficiency,
    CASE
        WHEN delta IS NULL THEN reason
        WHEN delta = 0 THEN 'no difference'
        WHEN token_tasks = 0 THEN 'no task has tokens in both arms'
        WHEN overhead IS NULL THEN 'the control used no tokens'
        WHEN overhead = 0 THEN 'no overhead'
    END AS cost_efficiency_reason,
    cost_quadrant(delta, overhead) AS quadrant
FROM priced
ORDER BY delta DESC NULLS LAST, skill, source;
