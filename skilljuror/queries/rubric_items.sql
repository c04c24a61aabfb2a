-- question: How does each item of the construction rubric stand?
-- section: RQ1
-- grain: one row is one item of one variant of a build
-- columns: build, variant, item, asks, code, model_answer, answer, outcome, reason, evidence, file, line,
--   quote, model, adjudication, adjudicated_by, stale
-- params: variant=null, outcome=null
-- read: `answer` is what code and model say together: unknown where they differ. What is unresolved waits
--   for a person: `skilljuror review` asks one.
-- empty: Nothing was built here, or nothing of that variant and outcome: `skilljuror build SOURCE --out
--   DIR` makes variants, and `skilljuror ingest --study STUDY` reads those of a study.
-- column outcome: accepted, overridden, rejected, unresolved (waits for a person) or unanswered
-- column reason: why the model's answer is unknown; null for yes and no
-- column quote: the first passage that the model points at, found at file and line
-- column stale: true where a model was asked about other texts, or by another rubric
SELECT
    build, variant, item, question AS asks, code, model_answer, answer, outcome, reason, evidence,
    quoted_file AS file, quoted_line AS line, quote, model, adjudication, adjudicated_by, stale
FROM rubric_items
WHERE (CAST($variant AS VARCHAR) IS NULL OR variant = CAST($variant AS VARCHAR))
    AND (CAST($outcome AS VARCHAR) IS NULL OR outcome = CAST($outcome AS VARCHAR))
ORDER BY build, variant, item;
