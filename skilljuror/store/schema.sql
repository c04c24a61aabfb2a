-- The database of a study. The line before a CREATE TABLE or CREATE VIEW says what one row is, the
-- comment behind a column what it means; both become COMMENT ON, so that the database explains itself.

-- What made this database, one row: where it is another schema, ingest makes the database again.
CREATE TABLE made_by (
    schema_sha256 VARCHAR NOT NULL  -- Digest of the schema as applied.
);

-- What was planned and what was run.

-- The frozen plan, one row; empty in observed mode.
CREATE TABLE study (
    study VARCHAR NOT NULL,  -- Name of the study.
    skilljuror_version VARCHAR NOT NULL,  -- Version of the package that froze the plan.
    config_digest VARCHAR NOT NULL,  -- sha256 of the study file and of the digests of its tasks.
    seed BIGINT NOT NULL,  -- Seed of the trial order and of the agents' own seeds.
    trials_per_cell INTEGER NOT NULL,  -- Planned trials of every (task, condition) pair.
    treatment VARCHAR,  -- Condition on the plus side of the headline; null when there is one condition only.
    control VARCHAR,  -- Condition on the minus side of the headline; null when there is one condition only.
    harness VARCHAR NOT NULL,  -- Harness that runs the trials.
    agent VARCHAR NOT NULL,  -- Agent that is run.
    model VARCHAR,  -- Model of the agent; null for an agent without one.
    effort VARCHAR,  -- Reasoning effort that is asked of the agent; null for none.
    disclosure VARCHAR NOT NULL,  -- silent: the prompt is the instruction; named: its end names the offered Skills.
    vary VARCHAR[] NOT NULL,  -- What may differ between conditions.
    primary_outcome VARCHAR NOT NULL,  -- What the headline compares.
    margin DOUBLE,  -- Declared margin of equivalence, percentage points; null for none.
    config VARCHAR NOT NULL  -- The study file as JSON.
);

-- One row per planned task.
CREATE TABLE tasks (
    task VARCHAR NOT NULL,  -- Name of the task, unique in the study.
    position INTEGER NOT NULL,  -- 0-based place in the study file.
    path VARCHAR NOT NULL,  -- Folder of the task, relative to the study file.
    skills VARCHAR NOT NULL,  -- Source bundle, relative to the study file.
    instruction_digest VARCHAR NOT NULL,  -- sha256 of the instruction.
    environment_digest VARCHAR NOT NULL,  -- Tree digest of environment/ without skills.
    verifier_digest VARCHAR NOT NULL,  -- Tree digest of tests/.
    source_digest VARCHAR NOT NULL,  -- Tree digest of the source bundle.
    settings_digest VARCHAR,  -- sha256 of task.toml; null in plans of format 1, which do not hold it.
    substrate_digest VARCHAR NOT NULL  -- What must be equal across conditions: instruction, environment, verifier and settings.
);

-- One row per attribute of a task.
CREATE TABLE task_attributes (
    task VARCHAR NOT NULL,  -- Name of the task.
    attribute VARCHAR NOT NULL,  -- Name of the attribute, such as validation_type.
    value VARCHAR NOT NULL,  -- Its value.
    judged_by VARCHAR  -- Model that judged it; null for what the study file or the task itself says.
);

-- One row per arm of the study.
CREATE TABLE conditions (
    condition VARCHAR NOT NULL,  -- Name of the condition.
    position INTEGER NOT NULL,  -- 0-based place in the study file.
    variant VARCHAR,  -- Variant that the agent is offered; null offers no Skill.
    role VARCHAR,  -- treatment or control of the headline; null for the others.
    disclosure VARCHAR NOT NULL,  -- silent or named, as for the study.
    model VARCHAR,  -- Model of the agent in this arm; null for an agent without one.
    effort VARCHAR  -- Reasoning effort that is asked of it; null for none.
);

-- One row per planned trial: the frame that every rate is divided by.
CREATE TABLE planned_trials (
    trial VARCHAR NOT NULL,  -- Name of the trial.
    task VARCHAR NOT NULL,  -- Name of the task.
    condition VARCHAR NOT NULL,  -- Name of the condition.
    number INTEGER NOT NULL,  -- 1-based number inside the cell.
    position INTEGER NOT NULL,  -- 0-based place in the running order.
    block INTEGER NOT NULL,  -- 0-based block; each block holds every cell once.
    seed BIGINT NOT NULL  -- Seed handed to the agent.
);

-- One row per task that was found and left out before the study; it has no trials.
CREATE TABLE excluded_tasks (
    task VARCHAR NOT NULL,  -- Name of the task.
    path VARCHAR NOT NULL,  -- Folder of the task, relative to the study file.
    category VARCHAR NOT NULL,  -- Kind of reason, which exclusions are counted by.
    reason VARCHAR NOT NULL,  -- Why, in a sentence.
    decided_by VARCHAR NOT NULL  -- person, the rule of the study (max_tokens or pd_worth), or build: no model wrote its variants.
);

-- One row per finished trial, whatever its end.
CREATE TABLE trials (
    trial VARCHAR NOT NULL,  -- Name of the trial.
    task VARCHAR NOT NULL,  -- Name of the task.
    condition VARCHAR NOT NULL,  -- Name of the condition.
    number INTEGER NOT NULL,  -- 1-based number inside the cell.
    seed BIGINT NOT NULL,  -- Seed handed to the agent.
    status VARCHAR NOT NULL,  -- scored, timeout, unscored or error.
    reward DOUBLE,  -- Reward of the verifier in [0, 1]; null when it gave none.
    rewards MAP(VARCHAR, DOUBLE) NOT NULL,  -- Every key that the verifier wrote.
    exception VARCHAR,  -- Class of the agent's end when it was not clean.
    message VARCHAR,  -- One line on what went wrong.
    reason VARCHAR,  -- Why a verifier's answer does not count: no_answer (unscored: no model answered), no_log (error: the agent left no log); else null.
    agent VARCHAR NOT NULL,  -- Name of the agent.
    agent_version VARCHAR,  -- Version of the agent.
    model VARCHAR,  -- Model; null for an agent without one.
    effort VARCHAR,  -- Reasoning effort that the study asks for; null for none.
    scripted BOOLEAN NOT NULL,  -- True when a scripted policy ran: its figures say nothing about real agents.
    harness VARCHAR NOT NULL,  -- Name of the harness.
    isolation VARCHAR NOT NULL,  -- How the trial was kept apart: bwrap, none, docker, ….
    unsealed VARCHAR[],  -- Parts of the sandbox's seal that were unavailable; empty for a sealed trial, null where it is not known.
    config_digest VARCHAR NOT NULL,  -- Digest of the plan it ran under.
    substrate_digest VARCHAR NOT NULL,  -- Digest of instruction, environment and verifier as run.
    variant VARCHAR,  -- Variant offered, or the condition that gives a Skill as it is; null for no Skill.
    disclosed VARCHAR,  -- Sentence that named the offered Skills at the end of the prompt; null where nothing did.
    variant_digest VARCHAR,  -- Tree digest of the offered variant as it stood in the sandbox.
    skill_root VARCHAR,  -- Path of the skills folder as the agent saw it.
    variant_digest_after VARCHAR,  -- Tree digest of the offered variant after the agent, without announced files, or "gone"; null when it was not taken.
    network VARCHAR,  -- Network of the agent: none or host; null when it is not known.
    task_network VARCHAR,  -- What the task itself says of the network; null when it says nothing.
    started_at TIMESTAMP,  -- Start, UTC.
    finished_at TIMESTAMP,  -- End, UTC.
    agent_seconds DOUBLE,  -- Wall clock of the agent's execution, seconds; null when it never started.
    verifier_seconds DOUBLE,  -- Wall clock of the verifier, seconds; null when it never started.
    exit_code INTEGER,  -- Exit status of the agent; null after a timeout.
    usage_reason VARCHAR,  -- Why tokens and cost are null, such as no_model.
    left_out VARCHAR[] NOT NULL  -- What the agent left that was not read, with the reason.
);

-- One row per earlier attempt at a trial: it was run again, and only its last attempt, in `trials`, decides.
CREATE TABLE attempts (
    trial VARCHAR NOT NULL,  -- Name of the trial.
    attempt INTEGER NOT NULL,  -- Number of the attempt, from 1.
    status VARCHAR NOT NULL,  -- scored, timeout, unscored or error.
    reward DOUBLE,  -- Reward of the verifier in [0, 1]; null when it gave none.
    exception VARCHAR,  -- Class of the end when it was not clean.
    message VARCHAR,  -- One line on what went wrong.
    reason VARCHAR,  -- Why a verifier's answer does not count: no_answer or no_log; else null.
    started_at TIMESTAMP,  -- Start, UTC.
    finished_at TIMESTAMP,  -- End, UTC.
    agent_seconds DOUBLE  -- Wall clock of the agent's execution, seconds; null when it never started.
);

-- One row per trial whose end a person took as final, though it has no reward or does not belong to its arm.
CREATE TABLE acceptances (
    trial VARCHAR NOT NULL,  -- Name of the trial.
    reason VARCHAR NOT NULL,  -- Why it may stand.
    accepted_by VARCHAR NOT NULL,  -- Who decided.
    accepted_at TIMESTAMP  -- When, UTC.
);

-- What was built from the source bundles, and what the gates found.

-- One row per build of a source bundle.
CREATE TABLE builds (
    build VARCHAR NOT NULL,  -- Slug of the source.
    skilljuror_version VARCHAR NOT NULL,  -- Version of the package that built it.
    engine VARCHAR NOT NULL,  -- plan (deterministic), assign or rewrite.
    tokenizer VARCHAR NOT NULL,  -- Name and version of the tokenizer behind every token count.
    source_digest VARCHAR NOT NULL,  -- Tree digest of the source as loaded.
    options VARCHAR NOT NULL,  -- Options of the transforms, JSON.
    assay VARCHAR  -- Measured power of the gates on this build, JSON; null when not measured.
);

-- One row per variant of a build; the source itself is the row without a parent. A Skill that a condition offers as it is stands here as well, under its task and the condition's name.
CREATE TABLE variants (
    build VARCHAR NOT NULL,  -- Slug of the source.
    variant VARCHAR NOT NULL,  -- Name of the variant.
    parent VARCHAR,  -- The variant it was made from; null for the source, given for a Skill that a condition offers as it is.
    tree_digest VARCHAR NOT NULL,  -- sha256 over paths, execute bits and contents.
    skills VARCHAR[] NOT NULL,  -- Names of its skill folders.
    tokens BIGINT NOT NULL,  -- Tokens of all its text.
    root_lines INTEGER NOT NULL,  -- Lines of all its SKILL.md files.
    root_tokens BIGINT NOT NULL,  -- Tokens of all its SKILL.md files.
    verdict VARCHAR,  -- Worst verdict of its gates after waivers and decisions: pass, review or fail; null for the source.
    waivers VARCHAR,  -- Whose waivers and decisions the verdict rests on; null for none.
    layers VARCHAR NOT NULL,  -- What the verdict rests on: deterministic, rubric, people; empty for the source.
    feasibility VARCHAR,  -- ok, over_read_limit or over_context for a flat variant; else null.
    pd_worth VARCHAR,  -- small where a pd variant has little to gain: a root of under 800 tokens, no opened file of more than 400.
    announced VARCHAR[] NOT NULL,  -- Files that its pages carry and say to write out; none is among variant_files.
    expected_findings VARCHAR[] NOT NULL  -- Rules that a control is declared to break.
);

-- One row per task and condition that offers a Skill as it is, with what it shares with another one: nobody matched their knowledge.
CREATE TABLE given_skills (
    task VARCHAR NOT NULL,  -- Name of the task.
    condition VARCHAR NOT NULL,  -- Name of the condition.
    path VARCHAR NOT NULL,  -- Where the Skill lies, relative to the study file.
    git_commit VARCHAR,  -- Full hash of the commit it is taken from; null for one on disk.
    tree_digest VARCHAR NOT NULL,  -- sha256 over paths, execute bits and contents.
    compared_with VARCHAR,  -- What the nearest condition before it that offers a Skill offers; null for the first.
    units BIGINT,  -- Knowledge units of that other Skill; null where there is nothing to compare.
    shared BIGINT,  -- Of these, units that this Skill says as well, in the same words or in much the same.
    altered BIGINT,  -- Places where it says a unit with other critical tokens, or in another order.
    own_units BIGINT  -- Knowledge units of this Skill.
);

-- One row per file of a variant.
CREATE TABLE variant_files (
    build VARCHAR NOT NULL,  -- Slug of the source.
    variant VARCHAR NOT NULL,  -- Name of the variant.
    path VARCHAR NOT NULL,  -- Posix path inside the variant.
    resource_class VARCHAR NOT NULL,  -- root, support, code or data.
    sha256 VARCHAR NOT NULL,  -- Digest of its bytes.
    size BIGINT NOT NULL,  -- Bytes.
    executable BOOLEAN NOT NULL,  -- Execute bit.
    lines INTEGER,  -- Lines of text; null for binary.
    tokens BIGINT  -- Tokens of text; null for binary.
);

-- One row per gate and variant.
CREATE TABLE gate_results (
    build VARCHAR NOT NULL,  -- Slug of the source.
    variant VARCHAR NOT NULL,  -- Variant that was judged.
    gate VARCHAR NOT NULL,  -- Name of the gate.
    parent VARCHAR NOT NULL,  -- What it was judged against.
    policy VARCHAR NOT NULL,  -- Named policy: strict or edited.
    verdict VARCHAR NOT NULL,  -- pass, review (a person must look) or fail, after waivers.
    checked MAP(VARCHAR, BIGINT) NOT NULL  -- How many things of each kind were compared.
);

-- One row per thing that a gate found.
CREATE TABLE findings (
    build VARCHAR NOT NULL,  -- Slug of the source.
    variant VARCHAR NOT NULL,  -- Variant that was judged.
    gate VARCHAR NOT NULL,  -- Name of the gate.
    position INTEGER NOT NULL,  -- 0-based place among the findings of this gate, worst first.
    id VARCHAR NOT NULL,  -- What a waiver names: the rule and a digest of both texts.
    rule VARCHAR NOT NULL,  -- Stable rule id.
    severity VARCHAR NOT NULL,  -- high, medium, low or info.
    file VARCHAR NOT NULL,  -- Path inside the variant, or inside the source for something missing.
    line INTEGER,  -- 1-based line in the file.
    source_text VARCHAR,  -- First 300 characters of the text in the source; null for something added.
    variant_text VARCHAR,  -- First 300 characters of the text in the variant; null for something missing.
    inherited BOOLEAN NOT NULL,  -- True when the source already had it.
    message VARCHAR NOT NULL,  -- One line for a person.
    waived VARCHAR  -- Why it decides nothing, by waiver or decision, and who says so; null for a finding that counts.
);

-- One row per finding that a person has waived.
CREATE TABLE waivers (
    build VARCHAR NOT NULL,  -- Slug of the source.
    position INTEGER NOT NULL,  -- 0-based place among the waivers of the build.
    finding VARCHAR NOT NULL,  -- Id of the finding.
    reason VARCHAR NOT NULL,  -- Why it may stand.
    waived_by VARCHAR NOT NULL,  -- Who decided.
    waived_at VARCHAR NOT NULL,  -- When: UTC, ISO 8601.
    stale BOOLEAN NOT NULL  -- True when no finding is the waived one any more.
);

-- One row per item of the construction rubric and variant that it is asked of: what code, a model and people say.
CREATE TABLE rubric_items (
    build VARCHAR NOT NULL,  -- Slug of the source.
    variant VARCHAR NOT NULL,  -- Variant that is judged.
    item VARCHAR NOT NULL,  -- PD-1 to PD-3, SD-1 to SD-4.
    layer VARCHAR NOT NULL,  -- progressive_disclosure or semantic_drift.
    question VARCHAR NOT NULL,  -- What the item asks.
    code VARCHAR,  -- yes or no as code answers; null where it cannot, or no gate has looked.
    model_answer VARCHAR,  -- yes, no or unknown, after its quotes were looked up; null where no model was asked about these texts.
    answer VARCHAR,  -- What code and model say together; unknown where they differ, null before a model was asked.
    outcome VARCHAR NOT NULL,  -- accepted, overridden, rejected, unresolved or unanswered.
    reason VARCHAR,  -- Why the model is unknown: undecided, quote_not_found, no_quote, unparsed, too_long.
    evidence VARCHAR,  -- One sentence of the model.
    quoted_file VARCHAR,  -- File of its first quote, inside the source or the variant.
    quoted_line INTEGER,  -- 1-based line at which the quote begins.
    quote VARCHAR,  -- The quote, as found.
    quotes_not_found INTEGER,  -- Quotes that stand nowhere in the file that they name.
    model VARCHAR,  -- Model that answered.
    prompt_sha256 VARCHAR,  -- sha256 of what it was asked.
    adjudication VARCHAR,  -- Class that a person put the item in; null where nobody did.
    adjudicated_by VARCHAR,  -- Who did.
    adjudication_reason VARCHAR,  -- Why.
    stale BOOLEAN NOT NULL  -- True where a model was asked about other texts, or by another rubric.
);

-- One row per question about a build and person: their last answer to a flagged finding or an item of a rubric that was not taken back.
CREATE TABLE decisions (
    build VARCHAR NOT NULL,  -- Slug of the source.
    position INTEGER NOT NULL,  -- 0-based place among the decisions about the build.
    kind VARCHAR NOT NULL,  -- finding or rubric.
    variant VARCHAR NOT NULL,  -- Variant that the question is about.
    subject VARCHAR NOT NULL,  -- Id of the finding, or name of the rubric's item.
    answer VARCHAR NOT NULL,  -- yes, no, unknown, or the class of adjudication.
    adjudication VARCHAR,  -- source_idiosyncrasy, packaging_artifact, controlled_repair or reject; null for a label.
    reason VARCHAR NOT NULL,  -- Why; empty where nobody said.
    reviewer VARCHAR NOT NULL,  -- Who decided; may be a pseudonym.
    decided_at TIMESTAMP,  -- When, UTC.
    blind BOOLEAN NOT NULL,  -- Whether what the gate or the judge said was withheld.
    stale BOOLEAN NOT NULL  -- True when what was decided is no longer what is asked.
);

-- What the logs say. Rows point into the raw files by place: a line, or the number of an element where a file is one JSON document. No message bodies are kept.

-- One row per file or folder that ingest looked at.
CREATE TABLE sources (
    path VARCHAR NOT NULL,  -- Path as found.
    status VARCHAR NOT NULL,  -- parsed, part (of the run of the file that the reason names), duplicate, skipped or error.
    format VARCHAR,  -- Format that claims it.
    reason VARCHAR,  -- Why it was skipped, is an error, or lost to another capture; what it is a part of.
    size BIGINT  -- Bytes.
);

-- One row per run that its files no longer give: one of them is gone or became shorter. Its rows are kept until `ingest --prune`.
CREATE TABLE kept_runs (
    trajectory VARCHAR NOT NULL  -- Key of the run.
);

-- One row per file that ingest looked at, or folder that is read as a whole: what it need not open again.
CREATE TABLE seen (
    path VARCHAR NOT NULL,  -- Path as found.
    size BIGINT NOT NULL,  -- Bytes; of a folder, of all its files.
    mtime_ns BIGINT NOT NULL,  -- Last change, nanoseconds since the epoch; of a folder, that of any of its files.
    inode UBIGINT NOT NULL,  -- Number that its file system gives it.
    content VARCHAR,  -- sha256 of a folder's tree, or of what stands in a file where `ingest --verify` asked for it.
    reader VARCHAR NOT NULL,  -- Digest of the code and the options that it was read with; empty where it is to be read again.
    format VARCHAR,  -- Format that claims it.
    session VARCHAR,  -- The session that its first bytes name.
    link VARCHAR,  -- Its place among the files of its session, JSON.
    problem VARCHAR,  -- Why it is not read.
    names VARCHAR[] NOT NULL,  -- Names that tie it to others, which have one of them too.
    read_with VARCHAR  -- Digest of the group of files that it was read with.
);

-- One row per group of files that were read together: captures of one session, with what belongs to them.
CREATE TABLE groups (
    digest VARCHAR NOT NULL,  -- Digest of reader, paths and facts of its files; begins with - where it is to be read again.
    keys VARCHAR[] NOT NULL  -- Keys of the runs that it gave.
);

-- One row per run of an agent.
CREATE TABLE trajectories (
    trajectory VARCHAR NOT NULL,  -- Key of the run.
    trial VARCHAR,  -- Trial of the study; null in observed mode.
    source VARCHAR NOT NULL,  -- Path of the main raw log: the provenance of every line number.
    format VARCHAR NOT NULL,  -- Format it was read with.
    session VARCHAR,  -- Session id.
    agent VARCHAR,  -- Agent program.
    agent_version VARCHAR,  -- Its version.
    model VARCHAR,  -- Main model.
    started_at TIMESTAMP,  -- Start, UTC.
    finished_at TIMESTAMP,  -- End, UTC.
    steps INTEGER NOT NULL,  -- Steps of the main agent.
    sub_agents INTEGER NOT NULL,  -- Number of sub-agents with steps.
    sub_steps INTEGER NOT NULL,  -- Steps of sub-agents.
    input BIGINT,  -- Input tokens, neither read from nor written to a cache.
    cache_write BIGINT,  -- Input tokens written to a cache.
    cache_read BIGINT,  -- Input tokens read from a cache.
    output BIGINT,  -- Output tokens, reasoning included.
    reasoning BIGINT,  -- Reasoning tokens.
    cost_usd DOUBLE,  -- Cost as the log states it, US dollars.
    compactions INTEGER NOT NULL,  -- Compactions of the context.
    complete BOOLEAN NOT NULL,  -- False when the log is cut off.
    skipped_records INTEGER NOT NULL,  -- Records of types that are not read.
    warnings VARCHAR[] NOT NULL,  -- What the parser could not make sense of.
    task VARCHAR,  -- Task of the foreign trial around the log; null in a study and where no harness tells it.
    reward DOUBLE,  -- Reward of its verifier; null when it gave none.
    exception VARCHAR,  -- Class of its end when it was not clean.
    lists_every_skill BOOLEAN NOT NULL,  -- Whether the agent never leaves a name out of its list of skills, however long that is.
    lists_folder_names BOOLEAN NOT NULL,  -- Whether that list calls skills by their folders; else by the names in their frontmatter.
    offered_known BOOLEAN NOT NULL,  -- Whether the log says which skills were shown to the model.
    units INTEGER,  -- Knowledge units that stand in the offered variant; null without a knowledge map.
    shown_bytes BIGINT  -- Bytes of skill text shown, repeats included; null when it was not determined.
);

-- One row per trial and kind of text that its agent should not have seen: what was looked for in what it was shown. No row where nobody wrote down what to look for.
CREATE TABLE leak_searches (
    trajectory VARCHAR NOT NULL,  -- Name of the trial.
    kind VARCHAR NOT NULL,  -- skill (in an arm without one), layout (peculiar to another layout), verifier or solution.
    searched INTEGER NOT NULL,  -- Fingerprints that were looked for; 0 where the text is too short to be known again.
    found INTEGER NOT NULL,  -- Those of them that the agent was shown.
    contaminated BOOLEAN NOT NULL,  -- Whether they are enough to prove it.
    sources VARCHAR[] NOT NULL,  -- Files that they are of, the one with the most first.
    agent VARCHAR,  -- Agent that was shown the first of them.
    step INTEGER,  -- Its step; 0 before the first.
    excerpt VARCHAR NOT NULL,  -- The words of the first of them and what followed, normalised.
    null_searched INTEGER,  -- Fingerprints of another task's text of the kind; null where no other task has any of its own.
    null_found INTEGER  -- Those of them that the agent was shown: what is found by chance.
);

-- One row per step of an agent.
CREATE TABLE steps (
    trajectory VARCHAR NOT NULL,  -- Key of the run.
    agent VARCHAR NOT NULL,  -- "main" or the sub-agent's id.
    step INTEGER NOT NULL,  -- 1-based number of that agent's step.
    file VARCHAR,  -- Raw file of the line, where it is not the main log.
    line INTEGER NOT NULL,  -- Place of its first record: 1-based raw line, or number of the element in a JSON document.
    timestamp TIMESTAMP,  -- Time, UTC.
    actions VARCHAR[] NOT NULL,  -- Actions of its calls, in order.
    failed_calls INTEGER NOT NULL,  -- Calls whose result says that it did not work.
    skill_related BOOLEAN NOT NULL,  -- Whether a counted resource event falls into it.
    text_bytes BIGINT NOT NULL,  -- Bytes of its text, call arguments and results.
    preview VARCHAR NOT NULL,  -- The first 160 characters of what it says or runs.
    input BIGINT,  -- Input tokens, uncached.
    cache_write BIGINT,  -- Input tokens written to a cache.
    cache_read BIGINT,  -- Input tokens read from a cache.
    output BIGINT  -- Output tokens.
);

-- One row per skill that a run was shown.
CREATE TABLE offered (
    trajectory VARCHAR NOT NULL,  -- Key of the run.
    skill VARCHAR NOT NULL,  -- Name as offered.
    bundled BOOLEAN NOT NULL  -- Belongs to the agent itself, not to the task.
);

-- One row per access of an agent to a resource in one call.
CREATE TABLE events (
    event VARCHAR NOT NULL,  -- Id: trajectory, "#", ordinal.
    trajectory VARCHAR NOT NULL,  -- Key of the run.
    ordinal INTEGER NOT NULL,  -- 0-based number inside the run, in order of occurrence.
    line INTEGER NOT NULL,  -- Place of the call or injection: 1-based raw line, or number of the element in a JSON document.
    agent VARCHAR NOT NULL,  -- "main" or the sub-agent's id.
    step INTEGER NOT NULL,  -- 1-based step of that agent; 0 before the first.
    skill VARCHAR NOT NULL,  -- Skill as offered.
    resource VARCHAR NOT NULL,  -- Canonical path inside the skill; "." for a bare listing.
    resource_class VARCHAR NOT NULL,  -- root, support, code or data.
    kind VARCHAR NOT NULL,  -- activate, read, list, search, exec, import, edit, write or mention.
    via VARCHAR NOT NULL,  -- How: skill-tool, read-tool, shell, injected, slash, reinjected or python.
    ok BOOLEAN,  -- Content came, or exit status 0; null when nothing says so.
    content_exposed VARCHAR NOT NULL,  -- What the model saw of the file: full, partial or none.
    lines STRUCT(first INTEGER, last INTEGER)[],  -- Real file lines shown, as inclusive ranges; null when not determined.
    witness VARCHAR NOT NULL,  -- Which evidence speaks for it: content, command or both.
    call_id VARCHAR,  -- The log's id of the call.
    file VARCHAR,  -- Raw file of the line, where it is not the main log.
    phantom BOOLEAN NOT NULL,  -- True for a path under a skill root that the bundle does not have.
    bundled BOOLEAN NOT NULL,  -- True for a skill that belongs to the agent itself.
    counted BOOLEAN NOT NULL,  -- Whether it is a use at all: any kind but edit, write and mention.
    quote VARCHAR NOT NULL,  -- A short piece of the evidence.
    note VARCHAR NOT NULL,  -- Free text.
    shown_bytes BIGINT  -- Bytes of the resource's text that were shown; null when not known.
);

-- One row per run and Skill that it was offered or touched: a name without a plugin is that of the one plugin that offers a Skill of that name in the run, else in any run; where two do, it stays as it is. A Skill of a trial's variant goes by its folder.
CREATE VIEW skill_names AS
WITH folders AS (
    SELECT l.trajectory, unnest(v.skills) AS skill
    FROM trajectories AS l
    JOIN trials AS t ON t.trial = l.trial
    JOIN variants AS v ON v.build = t.task AND v.variant = t.variant
),
written AS (
    SELECT trajectory, skill, true AS listed FROM offered
    UNION ALL
    SELECT trajectory, skill, false AS listed FROM events
),
plugins AS (
    SELECT trajectory, regexp_extract(skill, '[^:]*$') AS tail, skill FROM written WHERE contains(skill, ':')
),
own AS (
    SELECT trajectory, tail, count(DISTINCT skill) AS names, min(skill) AS name FROM plugins GROUP BY ALL
),
anywhere AS (
    SELECT tail, count(DISTINCT skill) AS names, min(skill) AS name FROM plugins
    WHERE tail NOT IN (SELECT skill FROM offered) GROUP BY ALL
)
SELECT
    w.trajectory AS trajectory,  -- Key of the run.
    w.skill AS skill,  -- Name as written in the log.
    CASE
        WHEN f.skill IS NOT NULL AND count(b.skill) = 0 THEN f.skill
        WHEN bool_or(w.listed) OR o.names > 1 THEN w.skill
        WHEN contains(w.skill, ':') THEN coalesce(min(b.skill), w.skill)
        WHEN o.names = 1 THEN o.name
        WHEN a.names = 1 THEN a.name
        ELSE w.skill
    END AS name  -- Name that tables count it under.
FROM written AS w
LEFT JOIN own AS o ON o.trajectory = w.trajectory AND o.tail = regexp_extract(w.skill, '[^:]*$')
LEFT JOIN folders AS f ON f.trajectory = w.trajectory AND f.skill = regexp_extract(w.skill, '[^:]*$')
LEFT JOIN offered AS b ON b.trajectory = w.trajectory AND b.skill = regexp_extract(w.skill, '[^:]*$')
LEFT JOIN anywhere AS a ON a.tail = w.skill
GROUP BY w.trajectory, w.skill, o.names, o.name, a.names, a.name, f.skill;

-- One row per knowledge unit that reached a context, the first time it did.
CREATE TABLE exposure (
    trajectory VARCHAR NOT NULL,  -- Key of the run.
    position INTEGER NOT NULL,  -- 0-based order of arrival.
    unit VARCHAR NOT NULL,  -- Unit id of the build's knowledge map.
    agent VARCHAR NOT NULL,  -- Whose context.
    step INTEGER NOT NULL,  -- Step at which it arrived; 0 before the first.
    times INTEGER NOT NULL,  -- How many events showed it in all.
    tokens INTEGER  -- Tokens of the unit's text.
);

-- One row per further total of the exposure of a run.
CREATE TABLE exposure_totals (
    trajectory VARCHAR NOT NULL,  -- Key of the run.
    name VARCHAR NOT NULL,  -- Name of the total.
    value DOUBLE NOT NULL  -- The number.
);

-- One row per measure that was taken of any run: what its numbers mean.
CREATE TABLE metrics (
    metric VARCHAR NOT NULL,  -- Name of the measure.
    family VARCHAR NOT NULL,  -- Metric that gives it; module:attribute for one of another package.
    definition VARCHAR NOT NULL,  -- What the number is, in one line.
    unit VARCHAR NOT NULL,  -- Its unit; flag for 0 or 1.
    level VARCHAR NOT NULL,  -- What one number is about.
    source VARCHAR NOT NULL,  -- Section of docs/formulas.md that defines it, or own.
    keys VARCHAR NOT NULL  -- What the sub-keys are; empty for none.
);

-- One row per number about one trial, or about one run in observed mode.
CREATE TABLE measures (
    trial VARCHAR NOT NULL,  -- Trial, or the key of the run in observed mode.
    metric VARCHAR NOT NULL,  -- Name of the measure.
    key VARCHAR NOT NULL,  -- Sub-key; empty for none.
    value DOUBLE,  -- The number; null when it could not be computed.
    reason VARCHAR  -- Why the value is null.
);

-- One row per foreign trial whose result stands alone: no log of it could be read, so that its steps, events and measures are not known.
CREATE TABLE unlogged_trials (
    trial VARCHAR NOT NULL,  -- The harness's id of the trial: the key that its run would have.
    name VARCHAR NOT NULL,  -- The harness's name of the trial.
    source VARCHAR NOT NULL,  -- Folder of the trial; `sources` says there why no log was read.
    format VARCHAR NOT NULL,  -- Format of the folder.
    task VARCHAR NOT NULL,  -- Task of the trial.
    agent VARCHAR,  -- Agent program.
    agent_version VARCHAR,  -- Its version.
    model VARCHAR,  -- Model.
    started_at TIMESTAMP,  -- Start of the trial, UTC.
    finished_at TIMESTAMP,  -- End of the trial, UTC.
    reward DOUBLE,  -- Reward of its verifier; null when it gave none.
    exception VARCHAR,  -- Class of its end when it was not clean.
    message VARCHAR  -- First line of the exception's message.
);

-- What judges say about single events.

-- One row per judge and event.
CREATE TABLE verdicts (
    event VARCHAR NOT NULL,  -- Id of the event.
    trial VARCHAR NOT NULL,  -- Trial, or the key of the run in observed mode.
    judge VARCHAR NOT NULL,  -- Name and version of the judge.
    label VARCHAR NOT NULL,  -- yes, no or unknown.
    category VARCHAR NOT NULL,  -- Why.
    source_quote VARCHAR,  -- What the resource said.
    action_quote VARCHAR,  -- What the agent then did with it.
    action_step INTEGER,  -- Step of that action.
    action_line INTEGER,  -- Place of that action, as in events.
    model VARCHAR,  -- Model behind the judge; null for a judge without one.
    prompt_sha256 VARCHAR,  -- Digest of the judge's prompt.
    note VARCHAR NOT NULL  -- Free text.
);

-- Whether a use may have been taken up or not: its content was shown, and the judge could not tell.
CREATE MACRO is_open(label, category) AS label = 'unknown' AND category NOT IN (:not_open);

-- One row per judge and event with what it adds to the two ends of every rate of uptake: the one source of all of them.
CREATE VIEW uptake_verdicts AS
SELECT
    event AS event,  -- Id of the event.
    judge AS judge,  -- Name and version of the judge.
    label AS label,  -- yes, no or unknown.
    category AS category,  -- Why.
    is_open(label, category) AS open,  -- Whether it is an unknown whose content was shown.
    CASE WHEN label = 'yes' THEN 1 WHEN label = 'no' OR is_open(label, category) THEN 0 END AS low,  -- 1 if taken up, as if no open use had been; null if nothing was shown.
    CASE WHEN label = 'yes' OR is_open(label, category) THEN 1 WHEN label = 'no' THEN 0 END AS high  -- The same as if every open use had been taken up.
FROM verdicts;

-- One row per place of a call in a judged run, after the first use, of which the log tells what came of it.
CREATE TABLE effects (
    trial VARCHAR NOT NULL,  -- Trial, or the key of the run in observed mode.
    agent VARCHAR NOT NULL,  -- "main" or the sub-agent's id.
    step INTEGER NOT NULL,  -- Step of the call.
    line INTEGER NOT NULL,  -- Place of the call, as in events.
    effect VARCHAR NOT NULL,  -- failed, error_gone (a command that had failed before works again after it), wrote or worked.
    effect_step INTEGER NOT NULL,  -- Step that shows it.
    quote VARCHAR  -- The line that shows it, or the path of the file that was written.
);

-- How an event is known again: a label that a person gave holds as long as this is the same.
CREATE MACRO event_digest(event, file, line, agent, step, skill, resource, kind) AS
    sha256(to_json([event, file, CAST(line AS VARCHAR), agent, CAST(step AS VARCHAR), skill, resource, kind]));

-- One row per event and person: their last answer to whether it was taken up that was not taken back.
CREATE TABLE labels (
    event VARCHAR NOT NULL,  -- Id of the event.
    reviewer VARCHAR NOT NULL,  -- Who decided; may be a pseudonym.
    label VARCHAR NOT NULL,  -- yes, no or unknown.
    reason VARCHAR NOT NULL,  -- Why; empty where nobody said.
    labelled_at TIMESTAMP,  -- When, UTC.
    blind BOOLEAN NOT NULL,  -- Whether what the judges said was withheld.
    seen VARCHAR NOT NULL  -- Digest of the event as the person saw it.
);

-- One row per label of a person whose event is still the one that they saw: beside `verdicts`, what judges are measured by.
CREATE VIEW current_labels AS
SELECT
    l.event AS event,  -- Id of the event.
    e.trajectory AS trajectory,  -- Key of the trajectory.
    coalesce(t.trial, t.trajectory) AS trial,  -- Trial, or the key of the run in observed mode.
    l.reviewer AS reviewer,  -- Who decided; may be a pseudonym.
    l.label AS label,  -- yes, no or unknown.
    l.reason AS reason,  -- Why; empty where nobody said.
    l.labelled_at AS labelled_at,  -- When, UTC.
    l.blind AS blind  -- Whether what the judges said was withheld.
FROM labels AS l
JOIN events AS e
    ON e.event = l.event
    AND event_digest(e.event, e.file, e.line, e.agent, e.step, e.skill, e.resource, e.kind) = l.seen
JOIN trajectories AS t ON t.trajectory = e.trajectory;

-- One row per use that people are asked to label, drawn at random with a known chance.
CREATE TABLE label_sample (
    event VARCHAR NOT NULL,  -- Id of the event.
    position INTEGER NOT NULL,  -- 0-based place in the order in which to ask.
    condition VARCHAR NOT NULL,  -- Condition of its trial; with the answer it is what divided the uses.
    answer VARCHAR NOT NULL,  -- What the judge had said of it: yes, no, not_seen_again, unknown or not_judged.
    probability DOUBLE NOT NULL  -- Chance that a use of this condition and answer had to be drawn.
);

-- One row per event, judge and further asking of its model: in other words, once more, or by another question.
CREATE TABLE repeated_verdicts (
    event VARCHAR NOT NULL,  -- Id of the event.
    trial VARCHAR NOT NULL,  -- Trial, or the key of the run in observed mode.
    judge VARCHAR NOT NULL,  -- Name and version of the judge whose model was asked.
    probe VARCHAR NOT NULL,  -- repeat: the same question; order: the accesses in another order; length: padded.
    repeat INTEGER NOT NULL,  -- Number of the asking; 0 is the one that the verdict rested on before.
    label VARCHAR NOT NULL,  -- yes, no or unknown.
    category VARCHAR NOT NULL,  -- Why.
    model VARCHAR NOT NULL,  -- Model that was asked.
    prompt_sha256 VARCHAR  -- Digest of the question.
);

-- One row per judge and run that it judged: what it need not judge again.
CREATE TABLE judged (
    trial VARCHAR NOT NULL,  -- Trial, or the key of the run in observed mode.
    judge VARCHAR NOT NULL,  -- Name and version of the judge.
    input VARCHAR NOT NULL  -- Digest of the judge, its prompt and the files of the run.
);

-- One row per judge and run that a model was asked about: what that took.
CREATE TABLE judge_calls (
    trial VARCHAR NOT NULL,  -- Trial, or the key of the run in observed mode.
    judge VARCHAR NOT NULL,  -- Name and version of the judge.
    model VARCHAR NOT NULL,  -- Model that was asked.
    asked INTEGER NOT NULL,  -- Events that it was asked about.
    calls INTEGER NOT NULL,  -- Answers that it took, those that could not be used included.
    input_tokens BIGINT,  -- Prompt tokens, those of a cache included; null where a server did not say.
    output_tokens BIGINT,  -- Completion tokens; null where a server did not say.
    cost_usd DOUBLE  -- What these answers cost when they were paid, US dollars; null for a model of unknown price.
);

-- Views that put the planned frame and foreign logs side by side.

-- One row per planned trial, per foreign run, and per foreign trial without a log (both with condition "observed"): the frame of every rate.
CREATE VIEW runs AS
SELECT
    p.trial AS run,  -- Name of the trial, or key of the foreign run.
    p.task AS task,  -- Name of the task; null for a foreign run that no trial of a harness holds.
    p.condition AS condition,  -- Name of the condition; "observed" for a foreign run.
    c.position AS position,  -- Place of the condition in the study file.
    coalesce(t.status, 'missing') AS status,  -- scored, timeout, unscored, error, missing or observed.
    t.reward AS reward,  -- Reward of the verifier; null when there is none.
    t.exception AS exception,  -- Class of the agent's end when it was not clean.
    t.reason AS reason,  -- Why a verifier's answer does not count: no_answer or no_log; else null.
    coalesce(t.reward IS NOT NULL OR t.status = 'timeout' OR a.trial IS NOT NULL, false) AS settled,  -- Whether the outcome is final: a reward, the time ran out, or a person took it as final.
    r.trial IS NOT NULL AS readable  -- Whether a log of it could be read.
FROM planned_trials AS p
JOIN conditions AS c ON c.condition = p.condition
LEFT JOIN trials AS t ON t.trial = p.trial
LEFT JOIN acceptances AS a ON a.trial = t.trial
LEFT JOIN (SELECT DISTINCT trial FROM trajectories) AS r ON r.trial = p.trial
UNION ALL BY NAME
SELECT
    trajectory AS run, task, 'observed' AS condition, 0 AS position, 'observed' AS status,
    reward, exception, reward IS NOT NULL AS settled, true AS readable
FROM trajectories
WHERE trial IS NULL
UNION ALL BY NAME
SELECT
    trial AS run, task, 'observed' AS condition, 0 AS position, 'observed' AS status,
    reward, exception, reward IS NOT NULL AS settled, false AS readable
FROM unlogged_trials;

-- One row per use of a Skill resource: events without authoring and mentions, and without the agent's own skills.
CREATE VIEW uses AS
SELECT
    e.event AS event,  -- Id of the event.
    coalesce(t.trial, t.trajectory) AS run,  -- Name of the trial, or key of the foreign run.
    e.trajectory AS trajectory,  -- Key of the trajectory.
    e.ordinal AS ordinal,  -- 0-based number inside the trajectory.
    e.agent AS agent,  -- "main" or the sub-agent's id.
    e.step AS step,  -- 1-based step of that agent; 0 before the first.
    n.name AS skill,  -- Skill, by the name that tables count it under.
    e.resource AS resource,  -- Canonical path inside the skill; "." for a bare listing.
    e.resource_class AS resource_class,  -- root, support, code or data.
    e.kind AS kind,  -- activate, read, list, search, exec or import.
    e.via AS via,  -- How.
    e.ok AS ok,  -- Whether it worked; null when nothing says so.
    e.content_exposed AS content_exposed,  -- full, partial or none.
    e.phantom AS phantom,  -- True for a path that the bundle does not have.
    e.kind IN ('activate', 'read', 'exec', 'import') AND NOT e.phantom AS opens  -- Whether it opens a resource (a listing or a search does not).
FROM events AS e
JOIN trajectories AS t ON t.trajectory = e.trajectory
JOIN skill_names AS n ON n.trajectory = e.trajectory AND n.skill = e.skill
WHERE e.counted AND NOT e.bundled;

-- One row per file that the pages of a trial's variant told its agent to write: to write and use it is neither an edit nor a wrong path.
CREATE VIEW announced_files AS
SELECT
    t.trial AS trial,  -- Name of the trial.
    unnest(v.announced) AS path  -- Posix path inside the variant.
FROM trials AS t
JOIN variants AS v ON v.build = t.task AND v.variant = t.variant;

-- Trials that do not belong to their arm.

-- How a name compares: folders and frontmatter spell one skill in different ways.
CREATE MACRO plain_name(name) AS
    regexp_replace(lower(regexp_extract(name, '[^:/]*$')), '[^\p{L}\p{N}]+', '-', 'g');

-- Whether a list surely names every skill: one that was cut for its length is no proof that any is missing. Some agents always keep all names. Others leave some out where a list outgrows its budget, which takes at least a dozen entries even of the greatest length.
CREATE MACRO is_whole_list(lists_every_skill, listed) AS lists_every_skill OR listed < 12;

-- One row per reason why a trial does not belong to its arm: it is invalid for the design and should be run again.
CREATE VIEW contaminations AS
SELECT
    r.run AS trial,  -- Name of the trial.
    'skill_in_no_skill_arm' AS flag,  -- What is wrong with it.
    count(*) || ' uses of ' || string_agg(DISTINCT u.skill, ', ' ORDER BY u.skill) AS detail  -- What the flag rests on.
FROM runs AS r
JOIN conditions AS c ON c.condition = r.condition AND c.variant IS NULL
JOIN uses AS u ON u.run = r.run AND u.content_exposed <> 'none'
GROUP BY r.run
UNION ALL
SELECT
    r.run, 'skill_offered_in_no_skill_arm',
    'the log lists ' || string_agg(DISTINCT o.skill, ', ' ORDER BY o.skill)
FROM runs AS r
JOIN conditions AS c ON c.condition = r.condition AND c.variant IS NULL
JOIN trajectories AS l ON l.trial = r.run
JOIN offered AS o ON o.trajectory = l.trajectory AND NOT o.bundled
WHERE EXISTS (
    SELECT 1 FROM variants AS v
    WHERE v.build = r.task AND list_contains(v.skills, regexp_extract(o.skill, '[^:]*$'))
)
GROUP BY r.run
UNION ALL
SELECT
    t.trial, 'other_variants_file',
    'saw ' || string_agg(DISTINCT f.path, ', ' ORDER BY f.path) || ', which its variant does not have'
FROM trials AS t
JOIN uses AS u ON u.run = t.trial AND u.phantom AND u.content_exposed <> 'none'
JOIN variant_files AS f
    ON f.build = t.task
    AND f.variant <> t.variant
    AND f.path = u.skill || '/' || u.resource
WHERE NOT EXISTS (SELECT 1 FROM announced_files AS a WHERE a.trial = t.trial AND a.path = f.path)
GROUP BY t.trial
UNION ALL
SELECT
    s.trajectory, s.kind || '_text_shown',
    s.found || ' of ' || s.searched || ' fingerprints of ' || s.sources[1] || ' at step ' || s.step
FROM leak_searches AS s
WHERE s.contaminated
UNION ALL
SELECT
    t.trial, 'other_variant',
    'planned ' || coalesce(c.variant, 'none') || ', ran ' || coalesce(t.variant, 'none')
FROM trials AS t
JOIN planned_trials AS p ON p.trial = t.trial
JOIN conditions AS c ON c.condition = p.condition
WHERE c.variant IS DISTINCT FROM t.variant
UNION ALL
SELECT t.trial, 'variant_changed', 'the offered files are not those that were built'
FROM trials AS t
JOIN variants AS v ON v.build = t.task AND v.variant = t.variant
WHERE t.variant_digest <> v.tree_digest
UNION ALL
SELECT t.trial, 'substrate_changed', 'instruction, environment or verifier is not as planned'
FROM trials AS t
JOIN tasks AS k ON k.task = t.task
WHERE t.substrate_digest <> k.substrate_digest
UNION ALL
SELECT t.trial, 'other_plan', 'it ran under another plan'
FROM trials AS t
JOIN study AS s ON s.config_digest <> t.config_digest
UNION ALL
SELECT
    trial, 'skill_not_offered',
    'the log lists the skills on offer, and not ' || string_agg(skill, ', ' ORDER BY skill) || ' of the variant'
FROM (
    SELECT
        l.trajectory, l.trial, l.lists_every_skill, l.lists_folder_names, s.skill, len(v.skills) AS skills,
        -- what was listed in all, and under names that the variant does not have
        (SELECT count(*) FROM offered AS o WHERE o.trajectory = l.trajectory) AS listed,
        (
            SELECT count(*) FROM offered AS o
            WHERE o.trajectory = l.trajectory
                AND NOT o.bundled
                AND NOT list_contains(list_transform(v.skills, lambda n: plain_name(n)), plain_name(o.skill))
        ) AS strangers
    FROM trajectories AS l
    JOIN trials AS t ON t.trial = l.trial
    JOIN variants AS v ON v.build = t.task AND v.variant = t.variant
    CROSS JOIN unnest(v.skills) AS s (skill)
    WHERE l.offered_known
        AND NOT EXISTS (
            SELECT 1 FROM offered AS o
            WHERE o.trajectory = l.trajectory AND plain_name(o.skill) = plain_name(s.skill)
        )
)
GROUP BY trajectory, trial, lists_every_skill, lists_folder_names, skills, listed, strangers
-- Where names in the frontmatter are listed, a stranger may be a missing one.
HAVING count(*) = skills
    OR (is_whole_list(lists_every_skill, listed) AND (lists_folder_names OR strangers < count(*)));

-- What the gates did with changes that were planted.

-- One row per assayed build and kind of change. Builds of one source with the same variants stand for one: the changes planted in them are the same, and counting them twice would feign certainty.
CREATE VIEW assays AS
WITH contents AS (
    SELECT
        build,
        coalesce(string_agg(variant || ' ' || tree_digest, ' ' ORDER BY variant), build) AS content
    FROM builds
    LEFT JOIN (SELECT * FROM variants WHERE parent IS DISTINCT FROM 'given') USING (build)
    GROUP BY build
),
twins AS (SELECT build, content, count(*) OVER (PARTITION BY content) AS builds FROM contents),
read AS (
    SELECT
        build,
        from_json(assay, '{"policy": "VARCHAR", "seed": "BIGINT", "sites": "BIGINT", "rows": [{
            "mutation": "VARCHAR", "drift": "BOOLEAN", "mutants": "BIGINT", "equivalent": "BIGINT",
            "flagged": "BIGINT", "failed": "BIGINT"
        }]}') AS told
    FROM builds WHERE assay IS NOT NULL
),
once AS (
    SELECT build, builds, told FROM read JOIN twins USING (build)
    QUALIFY row_number() OVER (
        PARTITION BY content, told.policy ORDER BY told.sites DESC, build
    ) = 1
),
flat AS (SELECT build, builds, told, unnest(told.rows) AS found FROM once)
SELECT
    build AS build,  -- Name of the build.
    builds AS builds,  -- Builds with the source and variants of this one, itself included.
    told.policy AS policy,  -- Named policy that the verdicts follow.
    told.seed AS seed,  -- Seed of the choice of places.
    told.sites AS sites,  -- Most places per kind of change and variant.
    found.mutation AS mutation,  -- Kind of change.
    found.drift AS drift,  -- Whether it changes what an agent must do; a harmless one does not.
    found.mutants AS planted,  -- Changes made and judged.
    found.equivalent AS equivalent,  -- Changes left out: the text says the same without white space, list markers and emphasis.
    found.flagged AS flagged,  -- Changes with a verdict other than pass.
    found.failed AS failed  -- Changes with the verdict fail.
FROM flat;

-- Wilson's 95 % interval of a share; null where there is nothing. `s` is the squared normal quantile over the whole.
CREATE MACRO wilson_end(p, s, side) AS
    (p + s / 2 + side * sqrt(s * p * (1 - p) + s * s / 4)) / (1 + s);
CREATE MACRO wilson_low(part, whole) AS
    if(part / nullif(whole, 0) = 0, 0, wilson_end(part / nullif(whole, 0), 3.8414588206941285 / nullif(whole, 0), -1));
CREATE MACRO wilson_high(part, whole) AS
    if(part / nullif(whole, 0) = 1, 1, wilson_end(part / nullif(whole, 0), 3.8414588206941285 / nullif(whole, 0), 1));

-- Formulas that questions share.

-- Shannon entropy in bits of answers that were given so many times each.
CREATE MACRO entropy_of(times) AS
    abs(list_sum(list_transform(times, lambda n: -(n / list_sum(times)) * log2(n / list_sum(times)))));

-- Whether an event put the SKILL.md of an offered Skill into the context; what no log says is no yes.
CREATE MACRO is_activation(kind, ok, phantom) AS kind = 'activate' AND coalesce(ok, false) AND NOT phantom;

-- Chance of at least one pass among k of the trials, without bias; null with fewer trials than k (A-36).
CREATE MACRO pass_at_k(trials, passes, k) AS
    if(trials < k, NULL, 1 - list_product(
        list_transform(range(k), lambda i: greatest(trials - passes - i, 0) / (trials - i))
    ));

-- Share of what was left to gain; null where nothing was.
CREATE MACRO normalised_gain(without, with_skill) AS (with_skill - without) / nullif(1 - without, 0);

-- Extra tokens for each token without the Skill; null where there was none.
CREATE MACRO token_overhead(without, with_skill) AS (with_skill - without) / nullif(without, 0);

-- Gain for each part of extra tokens; null where either is 0. Its sign says nothing without the quadrant (A-33).
CREATE MACRO cost_efficiency(delta, overhead) AS nullif(delta, 0) / nullif(overhead, 0);
CREATE MACRO cost_quadrant(delta, overhead) AS
    CASE sign(delta) WHEN 1 THEN 'better' WHEN -1 THEN 'worse' ELSE 'equal' END || ', '
    || CASE sign(overhead) WHEN 1 THEN 'dearer' WHEN -1 THEN 'cheaper' WHEN 0 THEN 'same cost' END;
