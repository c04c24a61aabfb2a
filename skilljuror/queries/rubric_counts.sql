-- question: How many items of the construction rubric were accepted, and by whom?
-- section: RQ1
-- grain: one row is one item and one layout, over all builds; the row `all` sums up
-- columns: variant, item, asks, items, code_yes, code_no, judged, yes, negative, disagreements,
--   overridden, rejected, unresolved, unanswered, accepted, accepted_rate
-- read: The items of the paper's construction audit (Tables 2, 11, 12). Progressive Disclosure items are
--   counted by code too, before any model is asked. An item that no model was asked about, or that nobody
--   has settled, has not passed.
-- empty: Nothing was built here: `skilljuror build SOURCE --out DIR` makes variants, and
--   `skilljuror ingest --study STUDY` reads those of a study.
-- column items: items asked of these variants: one for each variant that the item is asked of
-- column code_yes: items that code answers with yes; code_no: with no; of the others it knows nothing
-- column judged: items that a model was asked about these very texts
-- column negative: judged items without a yes: no, unknown, or code and model disagree
-- column disagreements: of these, items at which code and model say different things
-- column overridden: of these, items that a person looked at and lets stand
-- column rejected: of these, items at which a person rejects the variant
-- column unresolved: negative - overridden - rejected
-- column accepted: yes + overridden
-- column accepted_rate: accepted / items
SELECT
    coalesce(variant, 'all') AS variant,
    coalesce(item, 'all') AS item,
    coalesce(if(grouping(item) = 0, any_value(question), NULL), 'all items') AS asks,
    count(*) AS items,
    count(*) FILTER (WHERE code = 'yes') AS code_yes,
    count(*) FILTER (WHERE code = 'no') AS code_no,
    count(answer) AS judged,
    count(*) FILTER (WHERE answer = 'yes') AS yes,
    count(*) FILTER (WHERE answer <> 'yes') AS negative,
    count(*) FILTER (WHERE code <> model_answer) AS disagreements,
    count(*) FILTER (WHERE outcome = 'overridden') AS overridden,
    count(*) FILTER (WHERE outcome = 'rejected') AS rejected,
    count(*) FILTER (WHERE outcome = 'unresolved') AS unresolved,
    count(*) FILTER (WHERE outcome = 'unanswered') AS unanswered,
    count(*) FILTER (WHERE outcome IN ('accepted', 'overridden')) AS accepted,
    count(*) FILTER (WHERE outcome IN ('accepted', 'overridden')) / count(*) AS accepted_rate
FROM rubric_items
GROUP BY GROUPING SETS ((variant, item), (variant), ())
HAVING count(*) > 0
ORDER BY grouping(variant), variant, grouping(item), item;
