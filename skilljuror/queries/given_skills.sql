-- question: Which Skills are offered as they are, and what do they share with the one before?
-- section: RQ1
-- grain: one row is one condition that offers a Skill by path or revision, on one task
-- columns: task, condition, path, git_commit, tokens, root_lines, files, compared_with, units,
--   shared, shared_rate, altered, own_units
-- read: Nobody matched the knowledge of these Skills, so a difference between their arms is one of
--   what they say as well as of how it is laid out. The more units are shared and the fewer altered,
--   the more it is about layout.
-- empty: No condition of this study offers a Skill by `skill:`; its Skills are variants of one source,
--   whose knowledge the gates compare.
-- column compared_with: what the nearest condition before it that offers a Skill offers
-- column units: knowledge units of that other Skill
-- column shared: of these, units that this Skill says as well, in the same words or in much the same
-- column altered: places where it says a unit with other critical tokens, or in another order
-- column own_units: knowledge units of this Skill; null where there is nothing to compare
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
