-- question: Which Skills are offered unchanged, and how much knowledge do they share with the previous one?
-- section: RQ1
-- grain: one row is one condition that offers a Skill by path or revision, on one task
-- columns: task, condition, path, git_commit, tokens, root_lines, files, compared_with, units,
--   shared, shared_rate, altered, own_units
-- read: The knowledge of these Skills was not matched: their arms differ in content as well as in layout. The
--   more units they share and the fewer are altered, the more the difference is one of layout.
-- empty: No condition of this study offers a Skill by `skill:`. Its Skills are variants of one source; the
--   gates compare their knowledge.
-- column compared_with: the Skill of the nearest previous condition that offers one
-- column units: knowledge units of that other Skill
-- column shared: units of that Skill that this one also has, in the same or similar words
-- column altered: units of that Skill that this one has with other critical tokens or in another order
-- column own_units: knowledge units of this Skill; null if there is no Skill to compare
SELECT
    g.task, g.condition, g.path, g.git_commit,
    v.tokens, v.root_lines,
    (SELECT count(*) FROM variant_files AS f
        WHERE f.build = g.task AND f.variant = g.condition) AS files,
    g.compared_with, g.units, g.shared,
    g.shared / nullif(g.units, 0) AS shared_rate,
    g.altered, g.own_units
FROM given_skills AS g
LEFT JOIN variants AS v ON v.build = g.task AND v.variant = g.condition
LEFT JOIN conditions AS c ON c.condition = g.condition
ORDER BY g.task, c.position;
