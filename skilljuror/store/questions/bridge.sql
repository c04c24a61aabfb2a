-- question: How did a resource lead to the outcome, step by step?
-- section: RQ4
-- grain: one row is one use that a judge labelled yes
-- columns: run, condition, task, judge, skill, resource, kind, step, category, source_quote,
--   action_step, action_quote, effect, effect_step, effect_quote, reward, status, exception
-- params: run=null, skill=null
-- read: Each row is one chain: the text of the resource, the agent's action, the effect of that call, and the
--   outcome of the trial. It shows what happened, not what would have happened without the resource.
-- empty: No use is labelled yes, or none is judged yet; judge them with `skilljuror judge STUDY`.
-- column step: step in which the resource was opened
-- column source_quote: text of the resource that the agent acted on
-- column action_quote: the agent's action
-- column effect: effect of the action's call: failed, error_gone (a command that had failed works when run
--   again after it), wrote (a file) or worked; null for an action without a call, or if the log does not show
--   the effect
-- column effect_step: step that shows the effect
-- column effect_quote: line that shows the effect, or path of the written file
SELECT
    u.run, r.condition, r.task, v.judge, u.skill, u.resource, u.kind, u.step, v.category,
    v.source_quote, v.action_step, v.action_quote,
    f.effect, f.effect_step, f.quote AS effect_quote,
    r.reward, r.status, r.exception
FROM verdicts AS v
JOIN uses AS u ON u.event = v.event
JOIN runs AS r ON r.run = u.run
LEFT JOIN effects AS f
    ON f.trial = v.trial AND f.agent = u.agent
    AND f.step = v.action_step AND f.line = v.action_line
WHERE v.label = 'yes'
    AND (CAST($run AS VARCHAR) IS NULL OR u.run = CAST($run AS VARCHAR))
    AND (CAST($skill AS VARCHAR) IS NULL OR u.skill = CAST($skill AS VARCHAR))
ORDER BY u.run, v.judge, u.trajectory, u.ordinal;
