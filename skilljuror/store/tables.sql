-- How records become rows: one section per kind of record. The writer runs its statements over two tables: `given` has the
-- records as JSON (j) in order (n), `named` the names whose earlier rows go, of a judge or not (name, judge). ':table' is replaced
-- by the columns of a table with their types in schema.sql, '~table' by the same with times in seconds, as logs have them.

-- put plan
DELETE FROM study;
DELETE FROM tasks;
DELETE FROM task_attributes;
DELETE FROM conditions;
DELETE FROM planned_trials;
DELETE FROM excluded_tasks;
INSERT INTO study BY NAME SELECT unnest(from_json(j->'study', ':study')) FROM given;
INSERT INTO conditions BY NAME
SELECT unnest(from_json(arm, ':conditions')) FROM (SELECT unnest(from_json(j->'arms', '["JSON"]')) AS arm FROM given);
INSERT INTO tasks BY NAME
SELECT unnest(from_json(task, ':tasks')) FROM (SELECT unnest(from_json(j->'tasks', '["JSON"]')) AS task FROM given);
INSERT INTO planned_trials BY NAME
SELECT unnest(from_json(json_merge_patch(trial, json_object('position', trial->'order')), ':planned_trials'))
FROM (SELECT unnest(from_json(j->'trials', '["JSON"]')) AS trial FROM given);
INSERT INTO excluded_tasks BY NAME
SELECT unnest(from_json(json_merge_patch(task, json_object('task', task->'name')), ':excluded_tasks'))
FROM (SELECT unnest(from_json(j->'excluded', '["JSON"]')) AS task FROM given);
-- What the study file or a task says comes before a model's judgement; the default domain is the category, as in SkillsBench.
INSERT INTO task_attributes BY NAME
WITH declared AS (
    SELECT task->>'name' AS task, unnest(map_entries(from_json(task->'attributes', '"MAP(VARCHAR, VARCHAR)"'))) AS entry
    FROM (SELECT unnest(from_json(j->'tasks', '["JSON"]')) AS task FROM given)
),
judged AS (SELECT unnest(from_json(j->'judged', '["JSON"]')) AS answer, generate_subscripts(from_json(j->'judged', '["JSON"]'), 1) AS n FROM given),
candidates AS (
    SELECT task, entry.key AS attribute, entry.value AS value, NULL AS judged_by, 0 AS rank, 0 AS n FROM declared
    UNION ALL
    SELECT task, 'domain', entry.value, NULL, 1, 0 FROM declared WHERE entry.key = 'category'
    UNION ALL
    SELECT answer->>'task', answer->>'attribute', answer->>'value', answer->>'model', 2, n FROM judged
    WHERE (answer->>'value') IS NOT NULL AND (answer->>'task') IN (SELECT task FROM tasks)
)
SELECT task, attribute, value, judged_by FROM candidates
QUALIFY row_number() OVER (PARTITION BY task, attribute ORDER BY rank, n DESC) = 1;

-- put builds
DELETE FROM builds USING named WHERE build = named.name;
DELETE FROM variants USING named WHERE build = named.name;
DELETE FROM variant_files USING named WHERE build = named.name;
DELETE FROM gate_results USING named WHERE build = named.name;
DELETE FROM findings USING named WHERE build = named.name;
DELETE FROM waivers USING named WHERE build = named.name;
DELETE FROM rubric_items USING named WHERE build = named.name;
DELETE FROM decisions USING named WHERE build = named.name;
INSERT INTO builds BY NAME SELECT unnest(from_json(j->'row', ':builds')) FROM given WHERE (j->'row') IS NOT NULL;
INSERT INTO variants BY NAME
SELECT unnest(from_json(manifest, ':variants')) FROM (SELECT unnest(from_json(j->'manifests', '["JSON"]')) AS manifest FROM given);
INSERT INTO variant_files BY NAME
SELECT unnest(from_json(json_merge_patch(file, place), ':variant_files'))
FROM (
    SELECT
        json_object('build', manifest->'build', 'variant', manifest->'variant') AS place,
        unnest(from_json(manifest->'files', '["JSON"]')) AS file
    FROM (SELECT unnest(from_json(j->'manifests', '["JSON"]')) AS manifest FROM given)
);
INSERT INTO gate_results BY NAME
SELECT unnest(from_json(json_merge_patch(result, json_object('build', build)), ':gate_results'))
FROM (SELECT j->'build' AS build, unnest(from_json(j->'results', '["JSON"]')) AS result FROM given);
INSERT INTO findings BY NAME
SELECT * REPLACE (source_text[:300] AS source_text, variant_text[:300] AS variant_text)
FROM (
    SELECT unnest(from_json(json_merge_patch(finding, place, json_object('position', position)), ':findings'))
    FROM (
        SELECT
            json_object('build', build, 'variant', result->'variant', 'gate', result->'gate') AS place,
            unnest(from_json(result->'findings', '["JSON"]')) AS finding,
            generate_subscripts(from_json(result->'findings', '["JSON"]'), 1) - 1 AS position
        FROM (SELECT j->'build' AS build, unnest(from_json(j->'results', '["JSON"]')) AS result FROM given)
    )
);
INSERT INTO waivers BY NAME
SELECT
    build, position, waiver->>'finding' AS finding, waiver->>'reason' AS reason, waiver->>'by' AS waived_by,
    waiver->>'at' AS waived_at, CAST(waiver->>'stale' AS BOOLEAN) AS stale
FROM (
    SELECT
        j->>'build' AS build, unnest(from_json(j->'waivers', '["JSON"]')) AS waiver,
        generate_subscripts(from_json(j->'waivers', '["JSON"]'), 1) - 1 AS position
    FROM given
);
INSERT INTO rubric_items BY NAME
SELECT unnest(from_json(json_merge_patch(state, json_object(
    'build', build, 'item', state->'$.item.id', 'layer', state->'$.item.layer', 'question', state->'$.item.question',
    'model_answer', state->'$.verdict.answer', 'reason', state->'$.verdict.reason', 'evidence', state->'$.verdict.evidence',
    'quoted_file', state->'$.verdict.quotes[0].file', 'quoted_line', state->'$.verdict.quotes[0].line',
    'quote', state->'$.verdict.quotes[0].text', 'quotes_not_found', state->'$.verdict.quotes_not_found',
    'model', state->'$.verdict.model', 'prompt_sha256', state->'$.verdict.prompt_sha256'
)), ':rubric_items'))
FROM (SELECT j->'build' AS build, unnest(from_json(j->'items', '["JSON"]')) AS state FROM given);
INSERT INTO decisions BY NAME
SELECT unnest(from_json(json_merge_patch(decision, json_object(
    'build', build, 'position', position, 'reviewer', decision->'by', 'decided_at', utc(decision->>'at')
)), ':decisions'))
FROM (
    SELECT
        j->'build' AS build, unnest(from_json(j->'decisions', '["JSON"]')) AS decision,
        generate_subscripts(from_json(j->'decisions', '["JSON"]'), 1) - 1 AS position
    FROM given
);

-- put units
DELETE FROM units;
INSERT INTO units BY NAME SELECT unnest(from_json(j, ':units')) FROM given;

-- put unit_places
DELETE FROM unit_places;
INSERT INTO unit_places BY NAME SELECT unnest(from_json(j, ':unit_places')) FROM given;

-- put given_skills
DELETE FROM given_skills;
INSERT INTO given_skills BY NAME SELECT unnest(from_json(j, ':given_skills')) FROM given;

-- put generations
DELETE FROM generations;
INSERT INTO generations BY NAME
SELECT unnest(from_json(json_merge_patch(j, json_object('generated_by', j->'by')), ':generations')) FROM given;

-- put skill_leaks
DELETE FROM skill_leaks;
INSERT INTO skill_leaks BY NAME SELECT unnest(from_json(j, ':skill_leaks')) FROM given;

-- put trials
DELETE FROM trials WHERE trial IN (SELECT j->>'trial' FROM given);
INSERT INTO trials BY NAME
SELECT * REPLACE (utc(started_at) AS started_at, utc(finished_at) AS finished_at)
FROM (
    SELECT unnest(from_json(j, ':trials'))
    FROM (FROM given QUALIFY row_number() OVER (PARTITION BY (j->>'trial') ORDER BY n DESC) = 1 ORDER BY n)
);

-- put attempts
DELETE FROM attempts;
INSERT INTO attempts BY NAME SELECT * REPLACE (utc(started_at) AS started_at, utc(finished_at) AS finished_at)
FROM (SELECT unnest(from_json(j, ':attempts')) FROM given);

-- put acceptances
DELETE FROM acceptances;
INSERT INTO acceptances BY NAME
SELECT unnest(from_json(json_merge_patch(j, json_object('accepted_by', j->'by', 'accepted_at', utc(j->>'at'))), ':acceptances')) FROM given;

-- put checks
DELETE FROM check_results USING named WHERE trial = named.name AND item_group IS NULL;
INSERT INTO check_results BY NAME SELECT unnest(from_json(j, ':check_results')) FROM given;

-- put items
DELETE FROM check_results WHERE item_group IS NOT NULL;
INSERT INTO check_results BY NAME SELECT unnest(from_json(j, ':check_results')) FROM given;

-- put labels
DELETE FROM labels;
INSERT INTO labels BY NAME
SELECT unnest(from_json(json_merge_patch(j, json_object(
    'event', substr(j->>'item', 8), 'reviewer', j->'by', 'label', j->'answer', 'labelled_at', utc(j->>'at')
)), ':labels')) FROM given;

-- put codes
DELETE FROM trial_codes;
INSERT INTO trial_codes BY NAME
SELECT unnest(from_json(json_merge_patch(j, json_object(
    'list', split_part(j->>'item', ':', 1), 'trial', split_part(j->>'item', ':', 2), 'code', j->'answer', 'reviewer', j->'by'
)), ':trial_codes')) FROM given;

-- put label_sample
DELETE FROM label_sample;
INSERT INTO label_sample BY NAME
SELECT unnest(from_json(json_merge_patch(j, json_object('position', n)), ':label_sample')) FROM given;

-- put sources
DELETE FROM sources WHERE path IN (SELECT j->>'path' FROM given);
INSERT INTO sources BY NAME
SELECT unnest(from_json(j, ':sources')) FROM (FROM given QUALIFY row_number() OVER (PARTITION BY (j->>'path') ORDER BY n DESC) = 1 ORDER BY n);

-- put files
DELETE FROM files WHERE path IN (SELECT j->>'path' FROM given);
INSERT INTO files BY NAME SELECT unnest(from_json(j, ':files')) FROM given;

-- put readings
DELETE FROM readings USING named WHERE digest = name;
INSERT INTO readings BY NAME SELECT unnest(from_json(j, ':readings')) FROM given;

-- put metrics
DELETE FROM metrics WHERE metric IN (SELECT j->>'metric' FROM given);
INSERT INTO metrics BY NAME SELECT unnest(from_json(json_merge_patch(j, json_object('definition', j->'line')), ':metrics')) FROM given;

-- put unlogged
DELETE FROM unlogged_trials WHERE trial IN (SELECT j->>'trial' FROM given);
INSERT INTO unlogged_trials BY NAME
SELECT * REPLACE (moment(started_at) AS started_at, moment(finished_at) AS finished_at)
FROM (
    SELECT unnest(from_json(j, '~unlogged_trials')) FROM given WHERE (j->>'trial') NOT IN (SELECT trajectory FROM trajectories)
    QUALIFY row_number() OVER (PARTITION BY (j->>'trial') ORDER BY n DESC) = 1
);

-- put runs
CREATE OR REPLACE TEMP TABLE run AS
SELECT r, coalesce(r.trajectory.trajectory, r.measures[1].trial) AS name
FROM (
    SELECT n, from_json(j, '{
        "trajectory": ~trajectories, "offered": [~offered], "steps": [~steps], "events": [~events],
        "compactions": [~compactions], "unknown_tools": [~unknown_tools], "leaks": [~leak_searches], "measures": [~measures],
        "exposure": {"units": "INTEGER", "shown_bytes": "BIGINT", "seen": [~exposure], "extra": "MAP(VARCHAR, DOUBLE)"}
    }') AS r
    FROM given
)
QUALIFY row_number() OVER (PARTITION BY name ORDER BY n DESC) = 1
ORDER BY n;
CREATE OR REPLACE TEMP TABLE named AS
SELECT DISTINCT name FROM (SELECT unnest([name, r.measures[1].trial]) AS name FROM run)
WHERE name IN (SELECT trajectory FROM trajectories UNION ALL SELECT trial FROM measures);
DELETE FROM trajectories USING named WHERE trajectory = named.name;
DELETE FROM steps USING named WHERE trajectory = named.name;
DELETE FROM offered USING named WHERE trajectory = named.name;
DELETE FROM events USING named WHERE trajectory = named.name;
DELETE FROM compactions USING named WHERE trajectory = named.name;
DELETE FROM unknown_tools USING named WHERE trajectory = named.name;
DELETE FROM leak_searches USING named WHERE trajectory = named.name;
DELETE FROM exposure USING named WHERE trajectory = named.name;
DELETE FROM exposure_totals USING named WHERE trajectory = named.name;
DELETE FROM measures USING named WHERE trial = named.name;
DELETE FROM unlogged_trials WHERE trial IN (SELECT name FROM run);
INSERT INTO trajectories BY NAME
SELECT * REPLACE (moment(started_at) AS started_at, moment(finished_at) AS finished_at)
FROM (
    SELECT unnest(struct_update(
        r.trajectory, offered_known := r.offered IS NOT NULL, units := r.exposure.units, shown_bytes := r.exposure.shown_bytes
    ))
    FROM run WHERE r.trajectory IS NOT NULL
);
INSERT INTO steps BY NAME
SELECT * REPLACE (moment(timestamp) AS timestamp) FROM (SELECT unnest(row) FROM (SELECT unnest(r.steps) AS row FROM run));
INSERT INTO offered BY NAME SELECT unnest(row) FROM (SELECT unnest(r.offered) AS row FROM run);
INSERT INTO events BY NAME
SELECT * REPLACE (
    concat(trajectory, '#', ordinal) AS event, kind NOT IN ('edit', 'write', 'mention') AS counted,
    list_transform(lines, lambda pair: {'first': pair[1], 'last': pair[2]}) AS lines
)
FROM (SELECT unnest(row) FROM (SELECT unnest(r.events) AS row FROM run));
INSERT INTO compactions BY NAME SELECT unnest(row) FROM (SELECT unnest(r.compactions) AS row FROM run);
INSERT INTO unknown_tools BY NAME SELECT unnest(row) FROM (SELECT unnest(r.unknown_tools) AS row FROM run);
INSERT INTO leak_searches BY NAME SELECT unnest(row) FROM (SELECT unnest(r.leaks) AS row FROM run);
INSERT INTO measures BY NAME SELECT unnest(row) FROM (SELECT unnest(r.measures) AS row FROM run);
INSERT INTO exposure BY NAME
SELECT unnest(struct_update(row, trajectory := name, position := place))
FROM (SELECT name, unnest(r.exposure.seen) AS row, generate_subscripts(r.exposure.seen, 1) - 1 AS place FROM run);
INSERT INTO exposure_totals BY NAME
SELECT name AS trajectory, entry.key AS name, entry.value AS value
FROM (SELECT name, unnest(map_entries(r.exposure.extra)) AS entry FROM run);

-- put judged
DELETE FROM verdicts USING named WHERE trial = named.name AND verdicts.judge = named.judge;
DELETE FROM unit_uses USING named WHERE trial = named.name AND unit_uses.judge = named.judge;
DELETE FROM judged USING given WHERE trial = (j->>'trial') AND judge = (j->>'judge');
INSERT INTO judged BY NAME SELECT unnest(from_json(j, ':judged')) FROM given;

-- put verdicts
INSERT INTO verdicts BY NAME
SELECT unnest(from_json(j, ':verdicts'))
FROM (FROM given QUALIFY row_number() OVER (PARTITION BY (j->>'event'), (j->>'judge') ORDER BY n DESC) = 1 ORDER BY n);

-- put verdict_counts
CREATE OR REPLACE TEMP TABLE counted AS
SELECT trajectory FROM trajectories WHERE trajectory IN (SELECT name FROM named) OR trial IN (SELECT name FROM named);
DELETE FROM verdict_counts USING counted WHERE verdict_counts.trajectory = counted.trajectory;
INSERT INTO verdict_counts BY NAME
SELECT e.trajectory, e.skill, e.resource, e.bundled, v.judge, v.label, v.category, v.model, v.prompt_sha256, count(*) AS events
FROM counted
JOIN events AS e ON e.trajectory = counted.trajectory AND e.counted
JOIN verdicts AS v ON v.event = e.event
GROUP BY ALL;

-- put unit_uses
INSERT INTO unit_uses BY NAME SELECT unnest(from_json(j, ':unit_uses')) FROM given;

-- put judge_calls
DELETE FROM judge_calls USING named WHERE trial = named.name AND judge_calls.judge = named.judge;
INSERT INTO judge_calls BY NAME SELECT unnest(from_json(j, ':judge_calls')) FROM given;

-- put forgotten
DELETE FROM trajectories USING named WHERE trajectory = named.name;
DELETE FROM steps USING named WHERE trajectory = named.name;
DELETE FROM offered USING named WHERE trajectory = named.name;
DELETE FROM events USING named WHERE trajectory = named.name;
DELETE FROM compactions USING named WHERE trajectory = named.name;
DELETE FROM unknown_tools USING named WHERE trajectory = named.name;
DELETE FROM leak_searches USING named WHERE trajectory = named.name;
DELETE FROM exposure USING named WHERE trajectory = named.name;
DELETE FROM exposure_totals USING named WHERE trajectory = named.name;
DELETE FROM measures USING named WHERE trial = named.name;
DELETE FROM unlogged_trials USING named WHERE trial = named.name;
DELETE FROM check_results USING named WHERE trial = named.name;
DELETE FROM verdicts USING named WHERE trial = named.name;
DELETE FROM verdict_counts USING named WHERE trajectory = named.name;
DELETE FROM unit_uses USING named WHERE trial = named.name;
DELETE FROM judged USING named WHERE trial = named.name;
DELETE FROM judge_calls USING named WHERE trial = named.name;
