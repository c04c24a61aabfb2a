-- question: Where did generated Skills come from, what did they cost, and how much of the source do they carry?
-- section: RQ1
-- grain: one row is one answer of a generator
-- columns: skill, task, generated_by, agent, model, refused, input_tokens, output_tokens, minutes, cost_usd,
--   usage_reason, tokens, units, grounded, carried, compression, leak, leak_reason
-- read: A grounded unit is in what the generator saw; one that is not is the generator's own or made up. A
--   Skill can be short and carry much, or long and carry little. Only compare Skills of one source.
-- empty: No Skill was generated here. `skilljuror generate SOURCE --by outline --out gen` generates one; ask
--   the folder gen/create.
-- column skill: folder below skills/
-- column refused: why the answer was not copied
-- column input_tokens: all input tokens of its trial or call, cached ones included
-- column minutes: wall clock of the agent; null without one
-- column cost_usd: US dollars at the list price, else as the log reports it
-- column usage_reason: why tokens or cost are null
-- column units: knowledge units of the Skill, without its frontmatter
-- column grounded: share of these units that the source has, in the same or similar words
-- column carried: share of the source's units that the Skill has
-- column compression: tokens of the Skill per token of the source
-- column leak: whether it has text of the task's verifier or solution: ok, review, fail or unknown; null without a task
WITH used AS (
    SELECT
        trial,
        max(value) FILTER (WHERE metric = 'total_tokens') AS all_tokens,
        max(value) FILTER (WHERE metric = 'tokens' AND key = 'output') AS output_tokens,
        max(value) FILTER (WHERE metric = 'cost_usd') AS list_usd,
        max(value) FILTER (WHERE metric = 'cost_usd_logged') AS logged_usd,
        max(reason) FILTER (WHERE metric IN ('total_tokens', 'cost_usd')) AS reason
    FROM measures
    GROUP BY trial
)
SELECT
    g.skill,
    g.task,
    g.generated_by,
    g.agent,
    g.model,
    g.refused,
    coalesce(g.input_tokens, CAST(u.all_tokens - u.output_tokens AS BIGINT)) AS input_tokens,
    coalesce(g.output_tokens, CAST(u.output_tokens AS BIGINT)) AS output_tokens,
    t.agent_seconds / 60 AS minutes,
    coalesce(g.cost_usd, u.list_usd, u.logged_usd) AS cost_usd,
    coalesce(g.usage_reason, u.reason) AS usage_reason,
    g.tokens,
    g.units,
    g.grounded / nullif(g.units, 0) AS grounded,
    g.carried / nullif(g.source_units, 0) AS carried,
    g.tokens / nullif(g.source_tokens, 0) AS compression,
    g.leak,
    g.leak_reason
FROM generations AS g
LEFT JOIN trials AS t ON t.trial = g.trial
LEFT JOIN used AS u ON u.trial = g.trial
ORDER BY g.skill;
