-- question: How were resources accessed?
-- section: RQ3
-- grain: one row is one condition, kind and way
-- columns: condition, kind, via, events, trajectories, failed, phantom, counted
-- arms: condition
-- column kind: kind of access; edit, write and mention are not uses
-- column via: means of access, for example a tool or a command
-- column failed: events whose call failed
-- column phantom: events on a path that is not in the bundle
-- column counted: true if the kind counts as a use
SELECT
    r.condition,
    e.kind,
    e.via,
    count(*) AS events,
    count(DISTINCT r.run) AS trajectories,
    count(*) FILTER (WHERE e.ok = false) AS failed,
    count(*) FILTER (WHERE e.phantom) AS phantom,
    bool_and(e.counted) AS counted
FROM events AS e
JOIN trajectories AS t ON t.trajectory = e.trajectory
JOIN arm_runs AS r ON r.usable AND r.run = coalesce(t.trial, t.trajectory)
WHERE NOT e.bundled
GROUP BY r.condition, r.position, e.kind, e.via
ORDER BY r.position, events DESC, e.kind, e.via;
