-- question: How did a resource's signal lead to the outcome, link by link?
-- section: RQ4
-- grain: one row is one use that a judge called taken up
-- columns: run, condition, task, judge, skill, resource, kind, step, category, source_quote,
--   action_step, action_quote, effect, effect_step, effect_quote, reward, status, exception
-- params: run=null, skill=null
-- read: Each row is one chain: what the resource said, what the agent did with it, what came of that
--   very call, and how the trial ended. It is what happened, not what would have happened without.
-- empty: No judge called a use taken up, or nobody judged yet: `skilljuror judge STUDY` does.
-- column step: step in which the resource was opened
-- column source_quote: the signal, what the resource said
-- column action_quote: the action that took it up
-- column effect: what came of the action's call: failed, error_gone (a command that had failed before
--   it works when it is run again after it), wrote (a file) or worked; null for words without a
--   call, and where the log does not tell
-- column effect_step: step that shows it
-- column effect_quote: the line that shows it, or the path of the file that was written
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
