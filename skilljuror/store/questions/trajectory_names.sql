-- question: Which trajectories can be judged?
-- section: lists
-- grain: one row is one readable trial, or one foreign run
-- columns: name, trajectory, trial
-- column name: trial, or key of the foreign run
SELECT coalesce(trial, trajectory) AS name, trajectory, trial
FROM trajectories
ORDER BY name, trajectory;
