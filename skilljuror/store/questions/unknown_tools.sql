-- question: Which tools does skilljuror not know, and which skills may they have opened?
-- section: lists
-- grain: one row is one tool
-- columns: tool, calls, runs, runs_unknown, skills
-- read: What such a tool reads or runs is not in the events. Where its arguments or its answer name a file of a
--   skill, the run says nothing about whether the skill was opened: its measures of use are null (unknown_tool).
-- empty: Every tool that agents called is known.
-- column tool: name in the log; `mcp__SERVER__NAME` is a tool of another server
-- column calls: its calls that were neither refused nor gave an event
-- column runs: runs with such a call
-- column runs_unknown: of these, runs in which it may have opened a skill
-- column skills: these skills; null without any
SELECT
    tool,
    CAST(sum(calls) AS BIGINT) AS calls,
    count(*) AS runs,
    count(*) FILTER (WHERE len(skills) > 0) AS runs_unknown,
    nullif(array_to_string(list_sort(list_distinct(flatten(list(skills)))), ', '), '') AS skills
FROM unknown_tools
GROUP BY tool
ORDER BY runs_unknown DESC, calls DESC, tool;
