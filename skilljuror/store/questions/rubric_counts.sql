-- question: How many items of the construction rubric were accepted, and by whom?
-- section: RQ1
-- grain: one row is one item and one layout, over all builds; the row `all` sums up
-- columns: variant, item, asks, items, code_yes, code_no, judged, yes, negative, disagreements,
--   overridden, rejected, unresolved, unanswered, accepted, accepted_rate
-- read: The items of the paper's construction audit (Tables 2, 11, 12). Progressive Disclosure items are
--   first checked by code, before any model is asked. An item has not passed if no model was asked about it
--   or if it is unresolved.
-- empty: No builds. `skilljuror build SOURCE --out DIR` builds variants; `skilljuror ingest --study STUDY`
--   reads those of a study.
-- column items: items asked, one for each variant to which the item applies
-- column code_yes: items that code answers with yes; code_no: with no; code cannot answer the others
-- column judged: items that a model was asked about for the current texts
-- column negative: judged items without a yes: no, unknown, or code and model disagree
-- column disagreements: of these, items on which code and model disagree
-- column overridden: of these, items that a reviewer accepted
-- column rejected: of these, items for which a reviewer rejected the variant
-- column unresolved: negative - overridden - rejected
-- column accepted: yes + overridden; null where no model was asked
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
    if(count(answer) = 0, NULL, count(*) FILTER (WHERE outcome IN ('accepted', 'overridden'))) AS accepted,
    accepted / count(*) AS accepted_rate
FROM rubric_items
GROUP BY GROUPING SETS ((variant, item), (variant), ())
HAVING count(*) > 0
ORDER BY grouping(variant), variant, grouping(item), item;
