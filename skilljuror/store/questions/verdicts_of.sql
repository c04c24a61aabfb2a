-- question: How did judges label one trial?
-- section: lists
-- grain: one row is one judge's label for one event
-- columns: event, trial, judge, label, category, source_quote, action_quote, action_step,
--   action_line, model, prompt_sha256, note, source_line
-- params: trial=null
-- empty: No uses, or none judged yet. Judge them with `skilljuror judge STUDY`.
SELECT v.*
FROM verdicts AS v
WHERE CAST($trial AS VARCHAR) IS NULL OR v.trial = CAST($trial AS VARCHAR)
ORDER BY v.trial, v.judge, CAST(regexp_extract(v.event, '\d+$') AS INTEGER), v.event;
