-- question: Which Skills have text of their task's solution or verifier?
-- section: RQ1
-- grain: one row is one task and one condition that offers a Skill
-- columns: task, condition, verdict, runs, null_runs, null_task, skill_file, task_file, finding, waived
-- read: A run is 12 consecutive words that are in neither the instruction nor the environment. From 20 runs, about
--   twelve lines, `run` refuses the Skill until a person accepts it: `skilljuror waive STUDY FINDING --reason '…'`. 4 to
--   19 need a look: a Skill may rightly show code that the solution uses. Renamed or paraphrased answers are not found.
-- empty: No Skill was compared: the study was run by an older version, adopted from foreign trials, or offers none.
-- null runs: the Skill, or solution and verifier together, have no text
-- null null_runs: no other task of the study has another Skill, or nothing was compared
-- column runs: runs of the Skill that solution or verifier have too
-- column null_runs: most runs shared with the solution and verifier of a task with another Skill: matches by chance
-- column skill_file: file of the Skill with the most of them
-- column task_file: file of the solution or verifier with the most of them
-- column waived: why a person accepts it, and who
SELECT
    s.task, s.condition, s.verdict, s.runs, s.null_runs, s.null_task,
    s.skill_files[1] AS skill_file, s.task_files[1] AS task_file, s.finding, s.waived
FROM skill_leaks AS s
LEFT JOIN conditions AS c ON c.condition = s.condition
LEFT JOIN tasks AS t ON t.task = s.task
ORDER BY s.runs DESC NULLS LAST, t.position, c.position;
