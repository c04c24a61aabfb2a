-- question: In how many trials was each resource opened?
-- section: RQ3
-- grain: one row is one opened resource of a condition and a task
-- columns: condition, task, skill, resource, resource_class, opened, searched, trials, share
-- first: skill, resource, condition, opened, trials, share, task
-- arms: condition
-- column opened: trials in which it was activated, read, searched, run or imported, as for fanout
-- column searched: of these, trials in which only a search printed lines of it
-- column trials: readable trials of the condition and the task
WITH frame AS (
    SELECT condition, position, task, count(*) AS trials
    FROM arm_runs WHERE readable GROUP BY ALL
)
SELECT
    f.condition, f.task, u.skill, u.resource,
    min(u.resource_class) AS resource_class,
    count(DISTINCT u.run) AS opened,
    count(DISTINCT u.run) - count(DISTINCT u.run) FILTER (WHERE u.kind <> 'search') AS searched,
    f.trials,
    count(DISTINCT u.run) / f.trials AS share
FROM uses AS u
JOIN arm_runs AS r ON r.usable AND r.run = u.run
JOIN frame AS f ON f.condition = r.condition AND f.task IS NOT DISTINCT FROM r.task
WHERE u.kind <> 'list' AND NOT u.phantom
GROUP BY f.condition, f.position, f.task, f.trials, u.skill, u.resource
ORDER BY f.task, f.position, opened DESC, u.skill, u.resource;
