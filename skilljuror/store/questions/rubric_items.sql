-- question: What is the status of each item of the construction rubric?
-- section: RQ1
-- grain: one row is one item of one variant of a build
-- columns: build, variant, item, asks, code, model_answer, answer, outcome, reason, evidence, file, line,
--   quote, model, adjudication, adjudicated_by, stale
-- params: variant=null, outcome=null
-- read: `answer` combines code and model: unknown if they differ. Unresolved items need a reviewer: run
--   `skilljuror review`.
-- empty: No builds, or no items of that variant and outcome. `skilljuror build SOURCE --out DIR` builds
--   variants; `skilljuror ingest --study STUDY` reads those of a study.
-- column outcome: accepted, overridden, rejected, unresolved (needs review) or unanswered
-- column reason: why the model's answer is unknown; null for yes and no
-- column quote: first passage that the model quotes, found at file and line
-- column stale: true if the model was asked about other texts or with another rubric
SELECT
    build, variant, item, question AS asks, code, model_answer, answer, outcome, reason, evidence,
    quoted_file AS file, quoted_line AS line, quote, model, adjudication, adjudicated_by, stale
FROM rubric_items
WHERE (CAST($variant AS VARCHAR) IS NULL OR variant = CAST($variant AS VARCHAR))
    AND (CAST($outcome AS VARCHAR) IS NULL OR outcome = CAST($outcome AS VARCHAR))
ORDER BY build, variant, item;
