-- question: How many tasks does the treatment win, tie and lose?
-- section: RQ2
-- grain: one row is the contrast
-- columns: treatment, control, tasks, wins, ties, losses, won, lost
-- arms: treatment, control
-- whole: wins, ties, losses, won, lost
-- params: treatment=null, control=null
-- read: Wins, ties and losses add up to the number of tasks. A gain from few tasks is a weak gain.
-- empty: The database has no two conditions of a study to compare. For foreign logs, `skilljuror query STUDY
--   observed_outcomes` shows the outcomes of their trials, by task.
-- column won: names of the tasks that the treatment wins
-- column lost: names of the tasks that the treatment loses
WITH contrast AS (
    SELECT
        coalesce(CAST($treatment AS VARCHAR), (SELECT max(treatment) FROM study)) AS treatment,
        coalesce(CAST($control AS VARCHAR), (SELECT max(control) FROM study)) AS control
),
cells AS (
    SELECT condition, task, count(*) AS trials, count(*) FILTER (WHERE reward = 1) AS passes
    FROM runs
    WHERE status <> 'observed' AND verified
    GROUP BY condition, task
),
results AS (
    SELECT
        k.treatment,
        k.control,
        t.task,
        sign(t.passes * c.trials - c.passes * t.trials) AS result  -- exact, also for unequal arms (A-42)
    FROM contrast AS k
    JOIN cells AS t ON t.condition = k.treatment
    JOIN cells AS c ON c.condition = k.control AND c.task = t.task
)
SELECT
    treatment,
    control,
    count(*) AS tasks,
    count(*) FILTER (WHERE result = 1) AS wins,
    count(*) FILTER (WHERE result = 0) AS ties,
    count(*) FILTER (WHERE result = -1) AS losses,
    string_agg(task, ', ' ORDER BY task) FILTER (WHERE result = 1) AS won,
    string_agg(task, ', ' ORDER BY task) FILTER (WHERE result = -1) AS lost
FROM results
GROUP BY treatment, control;
