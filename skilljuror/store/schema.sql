-- The database of a study. The line before a CREATE TABLE or CREATE VIEW describes its rows, the
-- comment after a column its meaning; both become COMMENT ON, so that the database documents itself.

-- The schema that created this database, one row; ingest rebuilds a database of another schema.
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
    accept_skills VARCHAR[] NOT NULL,  -- Skills that logs may list, or not list, whatever the condition offers.
    primary_outcome VARCHAR NOT NULL,  -- What the headline compares.
    margin DOUBLE,  -- Declared margin of equivalence, percentage points; null for none.
    healthy_first INTEGER,  -- Trials of every (task, condition) pair that count, the healthy ones first; null for all.
    fewest_usable INTEGER,  -- Usable trials below which a condition gets no figures; null for no such rule.
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
    substrate_digest VARCHAR NOT NULL,  -- What must be equal across conditions: instruction, environment, verifier and settings.
    judged_by VARCHAR NOT NULL  -- What judges its trials: verifier, rubric or trigger; without a verifier they have no reward.
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
    agent VARCHAR NOT NULL,  -- Agent of this arm.
    model VARCHAR,  -- Model of the agent in this arm; null for an agent without one.
    effort VARCHAR,  -- Requested reasoning effort; null for none.
    own_skills BOOLEAN NOT NULL,  -- Whether the agent may offer its own Skills: as its options say, or unknown, as for adopted trials.
    setting VARCHAR NOT NULL  -- Disclosure, agent with options, model and effort, JSON: arms with the same one differ in the Skill alone.
);

-- One row per condition and variant of the study: the arm to compare it with, because it offers the variant and differs in nothing else.
CREATE VIEW skill_pairs AS
SELECT
    a.condition AS condition,  -- Name of the condition.
    o.variant AS variant,  -- A variant that any condition offers.
    if(count(*) FILTER (WHERE o.setting = a.setting) = 1, min(o.condition) FILTER (WHERE o.setting = a.setting), NULL) AS other,  -- The one condition that offers it under the same setting; null for none or several.
    CASE count(*) FILTER (WHERE o.setting = a.setting)
        WHEN 0 THEN 'no condition offers ' || o.variant || ' with the disclosure, agent, options, model and effort of ' || a.condition
        WHEN 1 THEN NULL
        ELSE 'several conditions offer ' || o.variant
    END AS reason  -- Why there is none.
FROM conditions AS a CROSS JOIN conditions AS o
WHERE o.variant IS NOT NULL
GROUP BY a.condition, o.variant;

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

-- One row per finished trial, successful or not.
CREATE TABLE trials (
    trial VARCHAR NOT NULL,  -- Name of the trial.
    task VARCHAR NOT NULL,  -- Name of the task.
    condition VARCHAR NOT NULL,  -- Name of the condition.
    number INTEGER NOT NULL,  -- 1-based number inside the cell.
    seed BIGINT NOT NULL,  -- Seed handed to the agent.
    status VARCHAR NOT NULL,  -- scored, timeout, unscored or error.
    reward DOUBLE,  -- Reward of the verifier in [0, 1]; null for none.
    rewards MAP(VARCHAR, DOUBLE) NOT NULL,  -- All rewards of the verifier, by key.
    exception VARCHAR,  -- Class of the agent's exception; null for a normal end.
    message VARCHAR,  -- One line on what went wrong.
    reason VARCHAR,  -- Why the verifier's reward does not count: no_answer (unscored: no model answered), no_log (error: the agent left no log), no_verifier (the task has none); else null.
    agent VARCHAR NOT NULL,  -- Name of the agent.
    agent_version VARCHAR,  -- Version of the agent.
    model VARCHAR,  -- Model; null for an agent without one.
    effort VARCHAR,  -- Requested reasoning effort; null for none.
    scripted BOOLEAN NOT NULL,  -- True when a scripted policy ran: its figures say nothing about real agents.
    harness VARCHAR NOT NULL,  -- Name of the harness.
    isolation VARCHAR NOT NULL,  -- Isolation of the trial: bwrap, none, docker, ….
    unsealed VARCHAR[],  -- Parts of the sandbox's seal that were unavailable; empty for a sealed trial, null if unknown.
    config_digest VARCHAR NOT NULL,  -- Digest of the plan it ran under.
    substrate_digest VARCHAR NOT NULL,  -- Digest of instruction, environment and verifier as run.
    variant VARCHAR,  -- Variant offered, or the condition of an unchanged Skill; null for no Skill.
    disclosed VARCHAR,  -- Sentence at the end of the prompt that named the offered Skills; null for none.
    variant_digest VARCHAR,  -- Tree digest of the offered variant in the sandbox.
    skill_root VARCHAR,  -- Path of the skills folder as the agent saw it.
    variant_digest_after VARCHAR,  -- Tree digest of the offered variant after the agent, without announced files, or "gone"; null if not measured.
    network VARCHAR,  -- Network of the agent: none, host, allowlist (listed hosts alone), public (a container's own); null if unknown.
    task_network VARCHAR,  -- Network setting of the task; null if missing.
    started_at TIMESTAMP,  -- Start, UTC.
    finished_at TIMESTAMP,  -- End, UTC.
    agent_seconds DOUBLE,  -- Wall clock of the agent's execution, seconds; null when it never started.
    verifier_seconds DOUBLE,  -- Wall clock of the verifier, seconds; null when it never started.
    exit_code INTEGER,  -- Exit status of the agent; null after a timeout.
    usage_reason VARCHAR,  -- Why tokens and cost are null, such as no_model.
    agent_untried VARCHAR,  -- Remark on a version of the agent newer than every tried one; else null.
    left_out VARCHAR[] NOT NULL  -- Files of the agent that were not read, with the reason.
);

-- One row per check of a trial: a test that its verifier ran, or an item of a rubric.
CREATE TABLE check_results (
    trial VARCHAR NOT NULL,  -- Name of the trial.
    source VARCHAR NOT NULL,  -- File in raw/verifier, after steps/NAME/ in a step of a multi-step task; or name of the rubric.
    name VARCHAR NOT NULL,  -- Name of the test as reported, or id of the item; unique in trial and source.
    outcome VARCHAR NOT NULL,  -- passed, failed, error (of the test itself, as of its fixture), skipped or unjudged.
    points DOUBLE NOT NULL,  -- Its weight; 1 for a test.
    award DOUBLE,  -- Points that it earned; null for skipped and unjudged.
    label VARCHAR,  -- Kind of failure by code: asset, runtime, interface, numeric or rule; null for a pass, and where none fits.
    said VARCHAR,  -- Last lines of the assertion, or the quote behind an item, at most 300 characters; null for none.
    judge VARCHAR,  -- Null for the verifier; code, a model, or a person, for an item of a rubric.
    item_group VARCHAR,  -- Group of a rubric's item, such as goal or following; null for a test.
    criterion VARCHAR,  -- Criterion of the task that it checks, such as AC-3, by its own mark; null without one.
    unit VARCHAR  -- Knowledge unit that a rubric's item comes from; null if the rubric names none.
);

-- One row per failed trial of the treatment, list and person: the code that they gave it last (rubrics/harm.yaml).
CREATE TABLE trial_codes (
    trial VARCHAR NOT NULL,  -- Name of the trial.
    list VARCHAR NOT NULL,  -- pattern: how the Skill may have led it astray; failure: what its verifier failed on.
    code VARCHAR NOT NULL,  -- The code; none or unknown if none applies or the log does not show it.
    reviewer VARCHAR NOT NULL,  -- Reviewer; may be a pseudonym.
    reason VARCHAR NOT NULL,  -- Reason; empty if none was given.
    blind BOOLEAN NOT NULL  -- Whether names and verdicts were hidden.
);

-- One row per planned trial: the share of points that it earned. The tests of the verifier count, if any trial of the task reported some; else the items of its rubrics. A repeated name (" #2") is no test of its own.
CREATE VIEW check_shares AS
WITH given AS (
    SELECT
        p.task, c.*, c.item_group IS NULL AS test,
        if(c.outcome = 'unjudged' OR regexp_matches(c.name, ' #\d+$'), NULL, (c.source, c.name)) AS known
    FROM planned_trials AS p JOIN check_results AS c ON c.trial = p.trial
),
kinds AS (
    SELECT task, test, count(DISTINCT (source, name)) FILTER (outcome = 'unjudged' OR known IS NOT NULL) AS asked
    FROM given GROUP BY task, test
)
SELECT
    p.trial AS trial,  -- Name of the trial.
    count(c.name) AS checks,  -- Tests, or items, including skipped ones, which do not count in the share.
    CASE
        WHEN checks = 0 THEN 'no check results'
        WHEN count(DISTINCT c.known) < k.asked THEN concat(k.asked - count(DISTINCT c.known), ' of ', k.asked, if(k.test, ' tests not reported', ' items unjudged'))
        WHEN coalesce(sum(c.points) FILTER (c.outcome <> 'skipped'), 0) = 0 THEN 'no check has points'
    END AS reason,  -- Why there is no share, such as tests that only other trials of the task reported; null if there is one.
    if(reason IS NULL, sum(c.award) / sum(c.points) FILTER (c.outcome <> 'skipped'), NULL) AS share  -- Points awarded / points; null with a reason.
FROM planned_trials AS p
LEFT JOIN kinds AS k ON k.task = p.task AND (k.test OR k.task NOT IN (SELECT task FROM kinds WHERE test))
LEFT JOIN given AS c ON c.trial = p.trial AND c.test = k.test
GROUP BY p.trial, k.test, k.asked;

-- One row per earlier attempt at a trial that was rerun; only the last attempt, in `trials`, counts.
CREATE TABLE attempts (
    trial VARCHAR NOT NULL,  -- Name of the trial.
    attempt INTEGER NOT NULL,  -- Number of the attempt, from 1.
    status VARCHAR NOT NULL,  -- scored, timeout, unscored or error.
    reward DOUBLE,  -- Reward of the verifier in [0, 1]; null for none.
    exception VARCHAR,  -- Class of the exception; null for a normal end.
    message VARCHAR,  -- One line on what went wrong.
    reason VARCHAR,  -- Why the verifier's reward does not count: no_answer, no_log or no_verifier; else null.
    started_at TIMESTAMP,  -- Start, UTC.
    finished_at TIMESTAMP,  -- End, UTC.
    agent_seconds DOUBLE  -- Wall clock of the agent's execution, seconds; null when it never started.
);

-- One row per trial whose result a person accepted, although it has no reward or is contaminated.
CREATE TABLE acceptances (
    trial VARCHAR NOT NULL,  -- Name of the trial.
    reason VARCHAR NOT NULL,  -- Reason for accepting it.
    accepted_by VARCHAR NOT NULL,  -- Person who accepted it.
    accepted_at TIMESTAMP  -- Time, UTC.
);

-- Builds of the source bundles, and findings of the gates.

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

-- One row per variant of a build; the source is the row without a parent. An unchanged Skill offered by a condition is also a row, under its task and the condition's name.
CREATE TABLE variants (
    build VARCHAR NOT NULL,  -- Slug of the source.
    variant VARCHAR NOT NULL,  -- Name of the variant.
    parent VARCHAR,  -- The variant it was made from; null for the source, `given` for an unchanged Skill.
    tree_digest VARCHAR NOT NULL,  -- sha256 over paths, execute bits and contents.
    skills VARCHAR[] NOT NULL,  -- Names of its skill folders.
    tokens BIGINT NOT NULL,  -- Tokens of all its text.
    root_lines INTEGER NOT NULL,  -- Lines of all its SKILL.md files.
    root_tokens BIGINT NOT NULL,  -- Tokens of all its SKILL.md files.
    verdict VARCHAR,  -- Worst verdict of its gates after waivers and decisions: pass, review or fail; null for the source.
    waivers VARCHAR,  -- People whose waivers and decisions the verdict is based on; null for none.
    layers VARCHAR NOT NULL,  -- Basis of the verdict: deterministic, rubric, people; empty for the source.
    feasibility VARCHAR,  -- ok, over_read_limit or over_context for a flat variant; else null.
    pd_worth VARCHAR,  -- none where a pd variant has nothing to open on demand; small: a root of under 800 tokens, no opened file of more than 400.
    announced VARCHAR[] NOT NULL,  -- Files that its pages embed and tell the agent to create; not in variant_files.
    expected_findings VARCHAR[] NOT NULL  -- Rules that a control is declared to break.
);

-- One row per task and condition that offers an unchanged Skill, compared with that of an earlier condition, because their knowledge was not matched.
CREATE TABLE given_skills (
    task VARCHAR NOT NULL,  -- Name of the task.
    condition VARCHAR NOT NULL,  -- Name of the condition.
    path VARCHAR NOT NULL,  -- Path of the Skill, relative to the study file.
    git_commit VARCHAR,  -- Full hash of its commit; null for a folder on disk.
    tree_digest VARCHAR NOT NULL,  -- sha256 over paths, execute bits and contents.
    compared_with VARCHAR,  -- Skill or variant of the previous condition that offers one; null for the first.
    units BIGINT,  -- Knowledge units of that other Skill; null without one.
    shared BIGINT,  -- Of these, units that this Skill also contains, in the same or similar words.
    altered BIGINT,  -- Units that it contains with other critical tokens, or in another order.
    own_units BIGINT  -- Knowledge units of this Skill.
);

-- One row per generated Skill, refused ones included.
CREATE TABLE generations (
    skill VARCHAR NOT NULL,  -- Folder below skills/: the task or library, and the number if there are several.
    task VARCHAR,  -- Task that it was generated for; null for no single one.
    trial VARCHAR,  -- Trial of its creator; null for a generator that runs no trial.
    generated_by VARCHAR NOT NULL,  -- creator, prompt, outline or command.
    agent VARCHAR,  -- Agent that wrote it; null for none.
    model VARCHAR,  -- Model that wrote it; null for none.
    version VARCHAR,  -- Version of the agent, or of skilljuror for an outline.
    scripted BOOLEAN NOT NULL,  -- True when a scripted policy wrote it.
    source VARCHAR NOT NULL,  -- Path of the source: what the generator saw.
    source_digest VARCHAR NOT NULL,  -- sha256 over paths, execute bits and contents of the source.
    source_commit VARCHAR,  -- Full hash of the source's commit; null for files on disk.
    order_digest VARCHAR NOT NULL,  -- sha256 of the order and the source.
    token_limit BIGINT,  -- Tokens that were allowed; null for no limit.
    refused VARCHAR,  -- Why the answer was not copied; null for a Skill.
    tree_digest VARCHAR,  -- sha256 over paths, execute bits and contents of the Skill.
    skills VARCHAR[] NOT NULL,  -- Names of its skill folders.
    tokens BIGINT,  -- Tokens of its text, without licences.
    source_tokens BIGINT,  -- Tokens of the source's text, without licences.
    units BIGINT,  -- Knowledge units of the Skill, without its frontmatter.
    grounded BIGINT,  -- Of these, units that the source also contains, in the same or similar words.
    source_units BIGINT,  -- Knowledge units of the source, without frontmatter.
    carried BIGINT,  -- Of these, units that the Skill also contains, in the same or similar words.
    leak VARCHAR,  -- Whether it has text of the task's solution and verifier: ok, review, fail or unknown; null without a task.
    leak_reason VARCHAR,  -- What the verdict is based on, or why there is none.
    input_tokens BIGINT,  -- Input tokens of a prompt; null for a trial, whose log has them.
    output_tokens BIGINT,  -- Output tokens of a prompt; null for a trial, whose log has them.
    cost_usd DOUBLE,  -- Cost of a prompt, US dollars; null for a trial, whose log has it.
    usage_reason VARCHAR  -- Why tokens and cost are null.
);

-- One row per task and condition that offers a Skill: runs of 12 words that the Skill shares with the task's solution and verifier, but not with its instruction and environment. A study without fingerprints has no rows.
CREATE TABLE skill_leaks (
    task VARCHAR NOT NULL,  -- Name of the task.
    condition VARCHAR NOT NULL,  -- Name of the condition.
    verdict VARCHAR NOT NULL,  -- ok; review from 4 runs; fail from 20; unknown without text on both sides.
    runs BIGINT,  -- Shared runs; null if unknown.
    null_runs BIGINT,  -- Most runs shared with the solution and verifier of a task with another Skill; null without one.
    null_task VARCHAR,  -- That task; null if there is none, or none shares a run.
    skill_files VARCHAR[] NOT NULL,  -- Files of the Skill with shared runs, most first.
    task_files VARCHAR[] NOT NULL,  -- Files of the task with shared runs, most first.
    finding VARCHAR,  -- Id of the leak for a waiver; null without runs.
    waived VARCHAR  -- Why a person accepts it, and who; null if none does.
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

-- One row per knowledge unit of a build's source, or of a Skill that a condition offers unchanged.
CREATE TABLE units (
    build VARCHAR NOT NULL,  -- Slug of the source.
    unit VARCHAR NOT NULL,  -- Id of the unit: kind, digest of its text, ordinal.
    kind VARCHAR NOT NULL,  -- statement, heading, item, row, code, command, step, field, file, schema or link.
    text VARCHAR NOT NULL,  -- Its normalised text.
    tokens INTEGER NOT NULL  -- Tokens of that text.
);

-- One row per knowledge unit and variant that contains it.
CREATE TABLE unit_places (
    build VARCHAR NOT NULL,  -- Slug of the source.
    variant VARCHAR NOT NULL,  -- Name of the variant; of an unchanged Skill, the condition.
    unit VARCHAR NOT NULL,  -- Id of the unit.
    file VARCHAR NOT NULL,  -- Posix path inside the variant.
    first_line INTEGER NOT NULL,  -- First line, 1-based.
    last_line INTEGER NOT NULL  -- Last line, inclusive.
);

-- One row per gate and variant.
CREATE TABLE gate_results (
    build VARCHAR NOT NULL,  -- Slug of the source.
    variant VARCHAR NOT NULL,  -- Variant that was judged.
    gate VARCHAR NOT NULL,  -- Name of the gate.
    parent VARCHAR NOT NULL,  -- What it was judged against.
    policy VARCHAR NOT NULL,  -- Named policy: strict or rewritten.
    verdict VARCHAR NOT NULL,  -- pass, review (a person must decide) or fail, after waivers.
    checked MAP(VARCHAR, BIGINT) NOT NULL  -- Number of items of each kind that were compared.
);

-- One row per finding of a gate.
CREATE TABLE findings (
    build VARCHAR NOT NULL,  -- Slug of the source.
    variant VARCHAR NOT NULL,  -- Variant that was judged.
    gate VARCHAR NOT NULL,  -- Name of the gate.
    position INTEGER NOT NULL,  -- 0-based place among the findings of this gate, worst first.
    id VARCHAR NOT NULL,  -- Id used in a waiver: the rule and a digest of both texts.
    rule VARCHAR NOT NULL,  -- Stable rule id.
    severity VARCHAR NOT NULL,  -- high, medium, low or info.
    file VARCHAR NOT NULL,  -- Path inside the variant, or inside the source for something missing.
    line INTEGER,  -- 1-based line in the file.
    source_text VARCHAR,  -- First 300 characters of the text in the source; null for something added.
    variant_text VARCHAR,  -- First 300 characters of the text in the variant; null for something missing.
    inherited BOOLEAN NOT NULL,  -- True when the source already had it.
    message VARCHAR NOT NULL,  -- One line for a person.
    waived VARCHAR  -- Why it does not count, by waiver or decision, and whose; null for a finding that counts.
);

-- One row per finding that a person has waived.
CREATE TABLE waivers (
    build VARCHAR NOT NULL,  -- Slug of the source.
    position INTEGER NOT NULL,  -- 0-based place among the waivers of the build.
    finding VARCHAR NOT NULL,  -- Id of the finding.
    reason VARCHAR NOT NULL,  -- Reason for the waiver.
    waived_by VARCHAR NOT NULL,  -- Person who waived it.
    waived_at VARCHAR NOT NULL,  -- When: UTC, ISO 8601.
    stale BOOLEAN NOT NULL  -- True if the finding no longer exists.
);

-- One row per item of the construction rubric and variant: the answers of code, a model and people.
CREATE TABLE rubric_items (
    build VARCHAR NOT NULL,  -- Slug of the source.
    variant VARCHAR NOT NULL,  -- Variant that is judged.
    item VARCHAR NOT NULL,  -- PD-1 to PD-3, SD-1 to SD-4.
    layer VARCHAR NOT NULL,  -- progressive_disclosure or semantic_drift.
    question VARCHAR NOT NULL,  -- What the item asks.
    code VARCHAR,  -- yes or no, determined by code; null if code cannot decide, or no gate ran.
    model_answer VARCHAR,  -- yes, no or unknown, after a check of its quotes; null if no model was asked about these texts.
    answer VARCHAR,  -- Combined answer of code and model; unknown if they differ, null before a model was asked.
    outcome VARCHAR NOT NULL,  -- accepted, overridden, rejected, unresolved or unanswered.
    reason VARCHAR,  -- Why the model is unknown: undecided, quote_not_found, no_quote, unparsed, too_long.
    evidence VARCHAR,  -- One sentence of the model.
    quoted_file VARCHAR,  -- File of its first quote, inside the source or the variant.
    quoted_line INTEGER,  -- 1-based line at which the quote begins.
    quote VARCHAR,  -- The quote, as found.
    quotes_not_found INTEGER,  -- Quotes that are not in the file that they name.
    model VARCHAR,  -- Model that answered.
    prompt_sha256 VARCHAR,  -- sha256 of what it was asked.
    adjudication VARCHAR,  -- Class chosen by a person; null for none.
    adjudicated_by VARCHAR,  -- Person who chose it.
    adjudication_reason VARCHAR,  -- Reason.
    stale BOOLEAN NOT NULL  -- True if the model answered about earlier texts, or by another rubric.
);

-- One row per flagged finding or rubric item and person: their latest decision that was not withdrawn.
CREATE TABLE decisions (
    build VARCHAR NOT NULL,  -- Slug of the source.
    position INTEGER NOT NULL,  -- 0-based place among the decisions about the build.
    kind VARCHAR NOT NULL,  -- finding or rubric.
    variant VARCHAR NOT NULL,  -- Variant in question.
    subject VARCHAR NOT NULL,  -- Id of the finding, or name of the rubric's item.
    answer VARCHAR NOT NULL,  -- yes, no, unknown, or the class of adjudication.
    adjudication VARCHAR,  -- source_idiosyncrasy, packaging_artifact, controlled_repair or reject; null for a label.
    reason VARCHAR NOT NULL,  -- Reason; empty if none was given.
    reviewer VARCHAR NOT NULL,  -- Reviewer; may be a pseudonym.
    decided_at TIMESTAMP,  -- Time, UTC.
    blind BOOLEAN NOT NULL,  -- Whether the verdict of the gate or judge was hidden.
    stale BOOLEAN NOT NULL  -- True if the question has changed since.
);

-- Content of the logs. Rows refer to the raw files by place: a line, or the number of an element if a file is one JSON document. Message bodies are not stored.

-- One row per file or folder that ingest examined.
CREATE TABLE sources (
    path VARCHAR NOT NULL,  -- Path as found.
    status VARCHAR NOT NULL,  -- parsed, part (of the run of the file that the reason names), duplicate, skipped or error.
    format VARCHAR,  -- Format that matches it.
    reason VARCHAR,  -- Why it was skipped or an error, or which file replaces or contains it.
    size BIGINT  -- Bytes.
);

-- One row per file, or folder read as a whole, that ingest examined: what is known of it without opening it, and the key of its rows in the cache.
CREATE TABLE files (
    path VARCHAR NOT NULL,  -- Path as found.
    size BIGINT NOT NULL,  -- Bytes; of a folder, of all its files.
    mtime_ns BIGINT NOT NULL,  -- Last change, nanoseconds since the epoch; of a folder, that of any of its files.
    inode UBIGINT NOT NULL,  -- Inode number.
    content VARCHAR,  -- sha256 of a folder's tree; null for a file.
    reader VARCHAR NOT NULL,  -- Digest of the code and options used to read it; empty if it must be read again.
    format VARCHAR,  -- Format that matches it.
    session VARCHAR,  -- Session in its first bytes.
    link VARCHAR,  -- Its role among the files of its session, JSON.
    problem VARCHAR,  -- Why it is not read.
    digest VARCHAR  -- Digest of reader, options and facts of all files that it was read with; null for a file that is not read, or missing.
);

-- One row per group of files read together and run that it gives: the captures of one session and their parts.
CREATE TABLE readings (
    digest VARCHAR NOT NULL,  -- Digest of the group, as in files.
    run VARCHAR NOT NULL,  -- Key of the run, or of a trial without a log.
    kept BOOLEAN NOT NULL  -- Whether the stored rows are those of an earlier, longer version of it.
);

-- One row per run of an agent.
CREATE TABLE trajectories (
    trajectory VARCHAR NOT NULL,  -- Key of the run.
    trial VARCHAR,  -- Trial of the study; null in observed mode.
    source VARCHAR NOT NULL,  -- Path of the main raw log: the provenance of every line number.
    format VARCHAR NOT NULL,  -- Format used to read it.
    session VARCHAR,  -- Session id.
    agent VARCHAR,  -- Agent program.
    agent_version VARCHAR,  -- Its version.
    model VARCHAR,  -- Model that gave the main agent most answers.
    started_at TIMESTAMP,  -- Start, UTC.
    finished_at TIMESTAMP,  -- End, UTC.
    steps INTEGER NOT NULL,  -- Steps of the main agent.
    sub_agents INTEGER NOT NULL,  -- Number of sub-agents with steps.
    sub_steps INTEGER NOT NULL,  -- Steps of sub-agents.
    inherited_steps INTEGER NOT NULL,  -- Further steps of the main agent in the log, which repeat another session and count there.
    input BIGINT,  -- Input tokens, neither read from nor written to a cache.
    cache_write BIGINT,  -- Input tokens written to a cache.
    cache_read BIGINT,  -- Input tokens read from a cache.
    output BIGINT,  -- Output tokens, including reasoning.
    reasoning BIGINT,  -- Reasoning tokens.
    hour_write BIGINT,  -- The part of cache_write that is kept for an hour, at twice the price of input; null if unknown.
    cost_usd DOUBLE,  -- Cost as reported by the log, US dollars.
    compactions INTEGER NOT NULL,  -- Compactions of the context.
    complete BOOLEAN NOT NULL,  -- False if the log is truncated.
    skipped_records INTEGER NOT NULL,  -- Records of unsupported types.
    warnings VARCHAR[] NOT NULL,  -- Warnings of the parser.
    task VARCHAR,  -- Task of the foreign trial that contains the log; null in a study and if unknown.
    reward DOUBLE,  -- Reward of its verifier; null for none.
    exception VARCHAR,  -- Class of its exception; null for a normal end.
    lists_every_skill BOOLEAN NOT NULL,  -- Whether the agent always lists all Skills, however many.
    lists_folder_names BOOLEAN NOT NULL,  -- Whether that list names Skills by folder; else by the name in the frontmatter.
    project VARCHAR,  -- Name of the working folder; null unless stored by `ingest --projects`.
    person VARCHAR,  -- Name of the home folder, likewise.
    plain_model VARCHAR,  -- The model without provider, date and punctuation of its name.
    model_date VARCHAR,  -- Date in its name, as YYYYMMDD; null without one.
    other_models VARCHAR[] NOT NULL,  -- Other models that answered the main agent, likewise.
    offered_known BOOLEAN NOT NULL,  -- Whether the log says which skills were shown to the model.
    units INTEGER,  -- Knowledge units of the offered variant; null without a knowledge map.
    shown_bytes BIGINT  -- Bytes of Skill text shown, including repeats; null if unknown.
);

-- One row per run whose files no longer contain it, because one was deleted or became shorter. Its rows are kept until `ingest --prune`.
CREATE VIEW kept_runs AS
SELECT
    trajectory  -- Key of the run.
FROM trajectories WHERE trial IS NULL AND trajectory NOT IN (SELECT run FROM readings WHERE NOT kept);

-- One row per trial and kind of text that its agent must not see: the result of searching for it in what the agent was shown. A study without fingerprints has no rows.
CREATE TABLE leak_searches (
    trajectory VARCHAR NOT NULL,  -- Name of the trial.
    kind VARCHAR NOT NULL,  -- skill (or a part of it that the arm does not offer), layout (peculiar to another layout), verifier or solution.
    searched INTEGER NOT NULL,  -- Fingerprints searched for; 0 if the text is too short to be recognised.
    found INTEGER NOT NULL,  -- Fingerprints shown to the agent.
    contaminated BOOLEAN NOT NULL,  -- Whether they suffice as proof.
    sources VARCHAR[] NOT NULL,  -- Files that contain them, the one with the most first.
    agent VARCHAR,  -- Agent that was shown the first one.
    step INTEGER,  -- Its step; 0 before the first.
    excerpt VARCHAR NOT NULL,  -- Text of the first one and what followed, normalised.
    null_searched INTEGER,  -- Fingerprints of another task's text of this kind; null without another task.
    null_found INTEGER  -- Of these, fingerprints shown to the agent: the number found by chance.
);

-- One row per step of an agent.
CREATE TABLE steps (
    trajectory VARCHAR NOT NULL,  -- Key of the run.
    agent VARCHAR NOT NULL,  -- "main" or the sub-agent's id.
    step INTEGER NOT NULL,  -- 1-based number of that agent's step.
    file VARCHAR,  -- Raw file of the line, if not the main log.
    line INTEGER NOT NULL,  -- Place of its first record: 1-based raw line, or number of the element in a JSON document.
    timestamp TIMESTAMP,  -- Time, UTC.
    actions VARCHAR[] NOT NULL,  -- Actions of its calls, in order.
    failed_calls INTEGER NOT NULL,  -- Calls that failed according to their result.
    skill_related BOOLEAN NOT NULL,  -- Whether it contains a counted resource event.
    text_bytes BIGINT NOT NULL,  -- Bytes of its text, call arguments and results.
    preview VARCHAR NOT NULL,  -- First 160 characters of its text or command.
    input BIGINT,  -- Input tokens, uncached.
    cache_write BIGINT,  -- Input tokens written to a cache.
    cache_read BIGINT,  -- Input tokens read from a cache.
    output BIGINT  -- Output tokens.
);

-- One row per Skill listed in a run.
CREATE TABLE offered (
    trajectory VARCHAR NOT NULL,  -- Key of the run.
    skill VARCHAR NOT NULL,  -- Name as offered.
    bundled BOOLEAN NOT NULL,  -- Whether it is the agent's own, not the task's.
    listing_bytes BIGINT  -- Bytes of its entry in the list of Skills; null if the log does not show it.
);

-- One row per model with a packaged list price: US dollars per million tokens, of the date in `price_date`.
CREATE VIEW prices AS
SELECT
    model AS model,  -- As `plain_model` of trajectories.
    input AS input,  -- Input, neither read from nor written to a cache.
    cache_write AS cache_write,  -- Input written to a cache.
    hour_write AS hour_write,  -- Input that a cache keeps for an hour.
    cache_read AS cache_read  -- Input read from a cache.
FROM (VALUES :prices) AS list (model, input, cache_write, hour_write, cache_read);

-- One row per run and tool of an unknown name that it called, where that was neither refused nor gave an event.
CREATE TABLE unknown_tools (
    trajectory VARCHAR NOT NULL,  -- Key of the run.
    tool VARCHAR NOT NULL,  -- Name of the tool in the log.
    calls INTEGER NOT NULL,  -- Its calls.
    skills VARCHAR[] NOT NULL  -- Skills that such a call, or its answer, names a file of: whether they were opened is unknown.
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
    ok BOOLEAN,  -- Whether content was returned, or the exit status was 0; null if unknown.
    content_exposed VARCHAR NOT NULL,  -- What the model saw of the file: full, partial or none.
    lines STRUCT(first INTEGER, last INTEGER)[],  -- Real file lines shown, as inclusive ranges; null when not determined.
    witness VARCHAR NOT NULL,  -- Its evidence: content, command or both.
    call_id VARCHAR,  -- The log's id of the call.
    file VARCHAR,  -- Raw file of the line, if not the main log.
    phantom BOOLEAN NOT NULL,  -- True for a path below a Skill's root that is not in the bundle.
    bundled BOOLEAN NOT NULL,  -- True for a Skill of the agent itself.
    counted BOOLEAN NOT NULL,  -- Whether it is a use: any kind but edit, write and mention.
    quote VARCHAR NOT NULL,  -- A short piece of the evidence.
    note VARCHAR NOT NULL,  -- Free text.
    shown_bytes BIGINT,  -- Bytes of the resource's text that were shown; null if unknown.
    text_digest VARCHAR  -- Version of a SKILL.md that was shown in full: sha256 of its lines, without front matter, blank lines and blanks at their ends; null for anything else, or if the text cannot be told apart.
);

-- One row per trial with a log and Skill folder of its variant.
CREATE VIEW variant_skills AS
SELECT
    l.trajectory AS trajectory,  -- Key of the run.
    unnest(v.skills) AS skill  -- Name of the Skill's folder.
FROM trajectories AS l
JOIN trials AS t ON t.trial = l.trial
JOIN variants AS v ON v.build = t.task AND v.variant = t.variant;

-- One row per run and Skill that was offered or touched, with its name in tables. A name without a plugin gets the plugin that offers such a Skill in the run, or else in any run, unless several do. A Skill of a trial's variant is named after its folder.
CREATE VIEW skill_names AS
WITH written AS (
    SELECT trajectory, skill, bool_or(listed) AS listed, regexp_extract(skill, '[^:]*$') AS tail FROM (
        SELECT trajectory, skill, true AS listed FROM offered
        UNION ALL
        SELECT DISTINCT trajectory, skill, false AS listed FROM events
    ) GROUP BY ALL
),
related AS (
    SELECT
        *, listed AND skill = tail AS plain, if(skill = tail, NULL, skill) AS plugin,
        bool_or(plain) OVER run AS plain_in_run, min(plugin) OVER run AS own, max(plugin) OVER run AS own_last,
        bool_or(plain) OVER (PARTITION BY tail) AS plain_anywhere,
        min(plugin) OVER (PARTITION BY tail) AS other, max(plugin) OVER (PARTITION BY tail) AS other_last,
    FROM written WINDOW run AS (PARTITION BY trajectory, tail)
)
SELECT
    trajectory AS trajectory,  -- Key of the run.
    skill AS skill,  -- Name as written in the log.
    CASE
        WHEN NOT plain_in_run AND (trajectory, tail) IN (SELECT (trajectory, skill) FROM variant_skills) THEN tail
        WHEN listed OR own <> own_last THEN skill
        WHEN skill <> tail THEN if(plain_in_run, tail, skill)
        WHEN own IS NOT NULL THEN own
        WHEN other = other_last AND NOT plain_anywhere THEN other
        ELSE skill
    END AS name  -- Name used in tables.
FROM related;

-- One row per knowledge unit and event that showed it to an agent.
CREATE TABLE exposure (
    trajectory VARCHAR NOT NULL,  -- Key of the run.
    position INTEGER NOT NULL,  -- 0-based order of arrival.
    unit VARCHAR NOT NULL,  -- Unit id of the build's knowledge map.
    agent VARCHAR NOT NULL,  -- Whose context.
    step INTEGER NOT NULL,  -- Step at which it arrived; 0 before the first.
    ordinal INTEGER NOT NULL,  -- Number of the event that showed it.
    tokens INTEGER  -- Tokens of the unit's text.
);

-- One row per compaction of an agent's context. The summary that replaces the text is not Skill text.
CREATE TABLE compactions (
    trajectory VARCHAR NOT NULL,  -- Key of the run.
    position INTEGER NOT NULL,  -- 0-based number in the run.
    agent VARCHAR NOT NULL,  -- Whose context.
    after_step INTEGER NOT NULL,  -- Number of that agent's steps before it.
    file VARCHAR,  -- Raw file of the line, if not the main log.
    line INTEGER NOT NULL,  -- Place of its record, as in events; 0 before the first element of a continued log.
    had INTEGER[] NOT NULL,  -- Ordinals of the events whose Skill text was in the context, or may have been after a compaction whose log does not say what it kept.
    kept INTEGER[]  -- Of these, the events whose text stayed; null if the log does not say. Text that the harness shows again is an event of its own.
);

-- One row per event that showed text of a task's Skill to an agent: up to which step it stayed in the context.
CREATE VIEW stays AS
WITH removals AS (
    SELECT trajectory, unnest(had) AS ordinal, position, after_step, kept FROM compactions
),
removed AS (
    SELECT
        trajectory, ordinal, min(position) AS compaction, arg_min(after_step, position) AS after_step,
        arg_min(kept IS NOT NULL, position) AS certain
    FROM removals WHERE kept IS NULL OR NOT list_contains(kept, ordinal) GROUP BY ALL
),
ends AS (SELECT trajectory, agent, max(step) AS step FROM steps GROUP BY ALL)
SELECT
    e.trajectory AS trajectory,  -- Key of the run.
    e.ordinal AS ordinal,  -- Number of the event.
    e.agent AS agent,  -- Whose context.
    e.skill AS skill,  -- Skill as offered.
    e.resource AS resource,  -- Canonical path inside the skill.
    e.resource_class AS resource_class,  -- root, support, code or data.
    e.step AS step,  -- Step at which it arrived; the requests of later steps contain it.
    greatest(e.step, coalesce(r.after_step, l.step, e.step)) AS until,  -- Last step whose request contained it.
    r.compaction AS compaction,  -- Number of the compaction that removed it; null if it stayed to the end.
    coalesce(r.certain, true) AS certain,  -- Whether that is known; if not, the text may have stayed longer.
    e.shown_bytes AS shown_bytes  -- Bytes of it; null if unknown.
FROM events AS e
LEFT JOIN ends AS l ON l.trajectory = e.trajectory AND l.agent = e.agent
LEFT JOIN removed AS r ON r.trajectory = e.trajectory AND r.ordinal = e.ordinal
-- One test, since DuckDB expects few rows to pass three, and then joins the wrong way around.
WHERE if(e.bundled, false, e.kind IN ('activate', 'read', 'search') AND e.content_exposed <> 'none');

-- One row per step, with sums over this and earlier steps of the agent. A step is a request if the log has its input tokens, or has those of no step of the run: parts of one answer can be steps.
CREATE VIEW requests AS
WITH shares AS (
    SELECT
        trajectory, agent, step,
        cache_read / nullif(input + coalesce(cache_write, 0) + cache_read, 0) AS share,
        input IS NOT NULL OR NOT bool_or(input IS NOT NULL) OVER (PARTITION BY trajectory) AS request
    FROM steps
)
SELECT
    trajectory AS trajectory,  -- Key of the run.
    agent AS agent,  -- "main" or the sub-agent's id.
    step AS step,  -- 1-based number of that agent's step.
    count(*) FILTER (WHERE request) OVER earlier AS requests,  -- Requests.
    count(share) OVER earlier AS split,  -- Requests with known cached input.
    coalesce(sum(share) OVER earlier, 0) AS cached  -- Sum over these of the cached share of their input.
FROM shares
WINDOW earlier AS (PARTITION BY trajectory, agent ORDER BY step);

-- One row per run and agent: its rows of `requests` as lists.
CREATE VIEW request_lists AS
SELECT
    trajectory AS trajectory,  -- Key of the run.
    agent AS agent,  -- "main" or the sub-agent's id.
    list(step ORDER BY step) AS steps,  -- Numbers of the steps.
    list(requests ORDER BY step) AS requests,  -- As in `requests`.
    list(split ORDER BY step) AS split,  -- As in `requests`.
    list(cached ORDER BY step) AS cached  -- As in `requests`.
FROM requests GROUP BY trajectory, agent;

-- Place of a step in such a list, mostly its number; null for a step that is not in it.
CREATE MACRO place_of(step, steps) AS
    CASE WHEN steps[step] = step THEN step WHEN step BETWEEN steps[1] AND steps[-1] THEN list_position(steps, step) END;

-- One row per run and total of its exposure.
CREATE TABLE exposure_totals (
    trajectory VARCHAR NOT NULL,  -- Key of the run.
    name VARCHAR NOT NULL,  -- Name of the total.
    value DOUBLE NOT NULL  -- The number.
);

-- One row per measure in this database: its definition.
CREATE TABLE metrics (
    metric VARCHAR NOT NULL,  -- Name of the measure.
    family VARCHAR NOT NULL,  -- Metric that computes it; module:attribute for one of another package.
    definition VARCHAR NOT NULL,  -- Definition in one line.
    unit VARCHAR NOT NULL,  -- Its unit; flag for 0 or 1.
    level VARCHAR NOT NULL,  -- Level of one value.
    source VARCHAR NOT NULL,  -- Section of docs/formulas.md that defines it, or own.
    keys VARCHAR NOT NULL  -- Meaning of the sub-keys; empty for none.
);

-- One row per number about one trial, or about one run in observed mode.
CREATE TABLE measures (
    trial VARCHAR NOT NULL,  -- Trial, or the key of the run in observed mode.
    metric VARCHAR NOT NULL,  -- Name of the measure.
    key VARCHAR NOT NULL,  -- Sub-key; empty for none.
    value DOUBLE,  -- The number; null if it could not be computed.
    reason VARCHAR  -- Why the value is null.
);

-- One row per foreign trial without a readable log: its steps, events and measures are unknown.
CREATE TABLE unlogged_trials (
    trial VARCHAR NOT NULL,  -- The harness's id of the trial, which would be the key of its run.
    name VARCHAR NOT NULL,  -- The harness's name of the trial.
    source VARCHAR NOT NULL,  -- Folder of the trial; `sources` has the reason.
    format VARCHAR NOT NULL,  -- Format of the folder.
    task VARCHAR NOT NULL,  -- Task of the trial.
    agent VARCHAR,  -- Agent program.
    agent_version VARCHAR,  -- Its version.
    model VARCHAR,  -- Model.
    started_at TIMESTAMP,  -- Start of the trial, UTC.
    finished_at TIMESTAMP,  -- End of the trial, UTC.
    reward DOUBLE,  -- Reward of its verifier; null for none.
    exception VARCHAR,  -- Class of its exception; null for a normal end.
    message VARCHAR  -- First line of the exception's message.
);

-- Verdicts of judges on events.

-- One row per judge and event.
CREATE TABLE verdicts (
    event VARCHAR NOT NULL,  -- Id of the event.
    trial VARCHAR NOT NULL,  -- Trial, or the key of the run in observed mode.
    judge VARCHAR NOT NULL,  -- Name and version of the judge.
    label VARCHAR NOT NULL,  -- yes, no or unknown.
    category VARCHAR NOT NULL,  -- Reason, as a category.
    source_quote VARCHAR,  -- Quote from the resource.
    action_quote VARCHAR,  -- Quote from the agent's later action.
    action_step INTEGER,  -- Step of that action.
    action_line INTEGER,  -- Place of that action, as in events.
    model VARCHAR,  -- Model behind the judge; null for a judge without one.
    prompt_sha256 VARCHAR,  -- Digest of the judge's prompt.
    note VARCHAR NOT NULL,  -- Free text.
    source_line INTEGER  -- Line of the resource that has the quote, 1-based; null for other text, such as a script's output.
);

-- One row per run, Skill, resource, judge and kind of verdict: how many counted events have it. Sums of events and verdicts, since rates are over millions of them.
CREATE TABLE verdict_counts (
    trajectory VARCHAR NOT NULL,  -- Key of the run.
    skill VARCHAR NOT NULL,  -- Skill as offered.
    resource VARCHAR NOT NULL,  -- Canonical path inside the skill.
    bundled BOOLEAN NOT NULL,  -- True for a Skill of the agent itself.
    judge VARCHAR NOT NULL,  -- Name and version of the judge.
    label VARCHAR NOT NULL,  -- yes, no or unknown.
    category VARCHAR NOT NULL,  -- Reason, as a category.
    model VARCHAR,  -- Model behind the judge; null for a judge without one.
    prompt_sha256 VARCHAR,  -- Digest of the judge's prompt.
    events BIGINT NOT NULL  -- Counted events with such a verdict.
);

-- One row per judge without a model, event, knowledge unit and step: a line of the unit, shown by the event, proves a use by the step.
CREATE TABLE unit_uses (
    trial VARCHAR NOT NULL,  -- Trial of the study.
    judge VARCHAR NOT NULL,  -- Name and version of the judge.
    event VARCHAR NOT NULL,  -- Id of the event.
    unit VARCHAR NOT NULL,  -- Id of the unit.
    step INTEGER NOT NULL  -- Step that used it.
);

-- Judge without a model, whose proofs name units.
CREATE MACRO tracing_judge() AS (SELECT max(judge) FROM verdicts WHERE starts_with(judge, 'tracing/'));

-- Kinds of knowledge unit that partition the text; the others are derived from the same lines.
CREATE MACRO is_content(kind) AS kind IN (:content_kinds);

-- Whether an agent of a run was shown a part of a Skill at unknown lines: any unit of the Skill may have been in it.
CREATE MACRO is_unplaced(run) AS EXISTS (
    FROM exposure_totals AS x WHERE x.trajectory = run AND x.name = 'unplaced_events' AND x.value > 0
);

-- Whether a use is open: its content was shown, and the judge could not decide.
CREATE MACRO is_open(label, category) AS label = 'unknown' AND category NOT IN (:not_open);

-- One row per judge and event, with its contribution to both ends of every rate of uptake; all rates are computed from this view.
CREATE VIEW uptake_verdicts AS
SELECT
    event AS event,  -- Id of the event.
    judge AS judge,  -- Name and version of the judge.
    label AS label,  -- yes, no or unknown.
    category AS category,  -- Reason, as a category.
    is_open(label, category) AS open,  -- Whether it is unknown although content was shown.
    CASE WHEN label = 'yes' THEN 1 WHEN label = 'no' OR is_open(label, category) THEN 0 END AS low,  -- 1 for yes, 0 for no or open; null if nothing was shown.
    CASE WHEN label = 'yes' OR is_open(label, category) THEN 1 WHEN label = 'no' THEN 0 END AS high  -- 1 for yes or open, 0 for no; null if nothing was shown.
FROM verdicts;

-- Identifies an event: a person's label is valid as long as this is unchanged.
CREATE MACRO event_digest(event, file, line, agent, step, skill, resource, kind) AS
    sha256(to_json([event, file, CAST(line AS VARCHAR), agent, CAST(step AS VARCHAR), skill, resource, kind]));

-- One row per event and person: their latest label of its uptake that was not withdrawn.
CREATE TABLE labels (
    event VARCHAR NOT NULL,  -- Id of the event.
    reviewer VARCHAR NOT NULL,  -- Reviewer; may be a pseudonym.
    label VARCHAR NOT NULL,  -- yes, no or unknown.
    reason VARCHAR NOT NULL,  -- Reason; empty if none was given.
    labelled_at TIMESTAMP,  -- Time, UTC.
    blind BOOLEAN NOT NULL,  -- Whether the judges' verdicts were hidden.
    seen VARCHAR NOT NULL  -- Digest of the event when it was labelled.
);

-- One row per label whose event has not changed since; judges are measured against these.
CREATE VIEW current_labels AS
SELECT
    l.event AS event,  -- Id of the event.
    e.trajectory AS trajectory,  -- Key of the trajectory.
    coalesce(t.trial, t.trajectory) AS trial,  -- Trial, or the key of the run in observed mode.
    l.reviewer AS reviewer,  -- Reviewer; may be a pseudonym.
    l.label AS label,  -- yes, no or unknown.
    l.reason AS reason,  -- Reason; empty if none was given.
    l.labelled_at AS labelled_at,  -- Time, UTC.
    l.blind AS blind  -- Whether the judges' verdicts were hidden.
FROM labels AS l
JOIN events AS e
    ON e.event = l.event
    AND event_digest(e.event, e.file, e.line, e.agent, e.step, e.skill, e.resource, e.kind) = l.seen
JOIN trajectories AS t ON t.trajectory = e.trajectory;

-- One row per use sampled for labelling by people, with known probability.
CREATE TABLE label_sample (
    event VARCHAR NOT NULL,  -- Id of the event.
    position INTEGER NOT NULL,  -- 0-based place in the labelling order.
    condition VARCHAR NOT NULL,  -- Condition of its trial; with the answer, the stratum of the sample.
    answer VARCHAR NOT NULL,  -- The judge's answer when sampled: yes, no, not_seen_again, unknown or not_judged.
    probability DOUBLE NOT NULL  -- Sampling probability of a use of this condition and answer.
);

-- One row per judge and run already judged, so that it need not be judged again.
CREATE TABLE judged (
    trial VARCHAR NOT NULL,  -- Trial, or the key of the run in observed mode.
    judge VARCHAR NOT NULL,  -- Name and version of the judge.
    input VARCHAR NOT NULL  -- Digest of the judge, its prompt and the files of the run.
);

-- One row per judge and run for which a model was asked: its usage.
CREATE TABLE judge_calls (
    trial VARCHAR NOT NULL,  -- Trial, or the key of the run in observed mode.
    judge VARCHAR NOT NULL,  -- Name and version of the judge.
    model VARCHAR NOT NULL,  -- Model.
    asked INTEGER NOT NULL,  -- Events in its questions.
    calls INTEGER NOT NULL,  -- Answers, including invalid ones.
    input_tokens BIGINT,  -- Prompt tokens, cached or not; null if not reported.
    output_tokens BIGINT,  -- Completion tokens; null if not reported.
    cost_usd DOUBLE  -- Cost of these answers when paid, US dollars; null for an unknown price.
);

-- Views that combine planned trials and foreign logs.

-- One row per run and Skill that an unknown tool may have opened.
CREATE VIEW unknown_opens AS
SELECT DISTINCT
    u.trajectory AS trajectory,  -- Key of the run.
    coalesce(l.trial, u.trajectory) AS run,  -- Name of the trial, or key of the foreign run.
    coalesce(n.name, u.skill) AS skill  -- Name of the Skill in tables.
FROM (SELECT trajectory, unnest(skills) AS skill FROM unknown_tools) AS u
JOIN trajectories AS l USING (trajectory)
LEFT JOIN skill_names AS n USING (trajectory, skill);

-- One row per run and Skill, by its name in tables, that was offered to the run, by its log or variant, or touched.
CREATE VIEW skill_runs AS
WITH offers AS (
    SELECT trajectory, name AS skill FROM offered JOIN skill_names USING (trajectory, skill)
    UNION
    SELECT g.trajectory, coalesce(n.name, g.skill) FROM variant_skills AS g LEFT JOIN skill_names AS n USING (trajectory, skill)
),
written AS (
    SELECT
        trajectory, skill,
        bool_or(kind IN ('activate', 'read', 'exec', 'import') AND ok IS NOT false AND NOT phantom) AS opened,
        count(*) AS uses,
        count(*) FILTER (WHERE ok = false) AS failed,
        sum(shown_bytes) FILTER (WHERE content_exposed <> 'none' AND NOT phantom) AS bytes
    FROM events WHERE counted GROUP BY ALL
),
touches AS (
    SELECT
        trajectory, name AS skill, bool_or(opened) AS opened, CAST(sum(uses) AS BIGINT) AS uses,
        CAST(sum(failed) AS BIGINT) AS failed, sum(bytes) AS bytes
    FROM written JOIN skill_names USING (trajectory, skill) GROUP BY trajectory, name
)
SELECT
    trajectory AS trajectory,  -- Key of the run.
    skill AS skill,  -- Name of the Skill in tables.
    if(o.trajectory IS NULL AND NOT r.offered_known AND r.trial IS NULL, NULL, o.trajectory IS NOT NULL) AS offered,  -- Whether log or variant lists it; null if the log has no list of Skills.
    coalesce(t.opened, false) OR if(u.skill IS NULL, false, NULL) AS opened,  -- Whether any of its resources was activated, read, run or imported; null if only an unknown tool may have.
    coalesce(t.uses, if(u.skill IS NULL, 0, NULL)) AS uses,  -- Resource events except authoring and mentions; null if an unknown tool may have made the only ones.
    coalesce(t.failed, 0) AS failed,  -- Uses that failed.
    coalesce(t.bytes, 0) AS bytes  -- Bytes of its text that reached a context, repeats included.
FROM touches AS t FULL JOIN offers AS o USING (skill, trajectory) LEFT JOIN unknown_opens AS u USING (skill, trajectory)
JOIN trajectories AS r USING (trajectory);

-- One row per task with a build: how many Skills its source has, and how long they are, in the buckets of SkillsBench.
CREATE VIEW skill_buckets AS
WITH sizes AS (
    SELECT k.task, any_value(len(v.skills)) AS count, sum(f.size) AS bytes
    FROM tasks AS k
    JOIN variants AS v ON v.build = k.task AND v.parent IS NULL
    JOIN variant_files AS f ON f.build = v.build AND f.variant = v.variant AND f.resource_class = 'root'
    GROUP BY k.task
),
cuts AS (SELECT quantile_cont(bytes, [0.25, 0.5, 0.95]) AS cut FROM sizes)
SELECT
    task AS task,  -- Name of the task.
    CASE
        WHEN count < 2 THEN '1' WHEN count < 4 THEN '2-3' ELSE '4 and more'
    END AS skills,  -- Its Skills: 1, 2-3, 4 and more.
    CASE
        WHEN bytes <= cut[1] THEN 'compact' WHEN bytes <= cut[2] THEN 'standard'
        WHEN bytes <= cut[3] THEN 'detailed' ELSE 'comprehensive'
    END AS skill_size,  -- compact, standard, detailed or comprehensive: bytes of its SKILL.md files up to the 25th, 50th and 95th percentile of the study's tasks, or above.
    CAST(bytes AS BIGINT) AS bytes,  -- Bytes of its SKILL.md files together.
    cut AS cuts  -- The three percentiles, bytes: they move with the tasks of the study.
FROM sizes CROSS JOIN cuts;

-- One row per planned trial, per foreign run, and per foreign trial without a log (both with condition "observed").
CREATE VIEW all_runs AS
SELECT
    p.trial AS run,  -- Name of the trial, or key of the foreign run.
    p.task AS task,  -- Name of the task; null for a foreign run outside a harness's trial.
    p.condition AS condition,  -- Name of the condition; "observed" for a foreign run.
    c.position AS position,  -- Place of the condition in the study file.
    p.number AS number,  -- 1-based number inside the cell; null for a foreign run.
    coalesce(t.status, 'missing') AS status,  -- scored, timeout, unscored, error, missing or observed.
    t.reward AS reward,  -- Reward of the verifier; null for none.
    t.exception AS exception,  -- Class of the agent's exception; null for a normal end.
    t.reason AS reason,  -- Why the verifier's reward does not count: no_answer, no_log or no_verifier; else null.
    coalesce(t.reward IS NOT NULL OR t.status = 'timeout' OR t.reason = 'no_verifier' OR a.trial IS NOT NULL, false) AS final,  -- Whether the outcome is final: a reward, a timeout, complete without a verifier, or accepted by a person.
    k.judged_by = 'verifier' AS verified,  -- Whether the task has a verifier: without one there is no reward, and no pass or failure.
    if(verified, coalesce(t.reward = 1, false), NULL) AS strict,  -- Whether the reward is 1; a missing reward is not a pass; null without a verifier.
    r.trial IS NOT NULL AS readable  -- Whether it has a readable log.
FROM planned_trials AS p
JOIN conditions AS c ON c.condition = p.condition
JOIN tasks AS k ON k.task = p.task
LEFT JOIN trials AS t ON t.trial = p.trial
LEFT JOIN acceptances AS a ON a.trial = t.trial
LEFT JOIN (SELECT DISTINCT trial FROM trajectories) AS r ON r.trial = p.trial
UNION ALL BY NAME
SELECT
    trajectory AS run, task, 'observed' AS condition, 0 AS position, 'observed' AS status,
    reward, exception, reward IS NOT NULL AS final, true AS verified, coalesce(reward = 1, false) AS strict, true AS readable
FROM trajectories
WHERE trial IS NULL
UNION ALL BY NAME
SELECT
    trial AS run, task, 'observed' AS condition, 0 AS position, 'observed' AS status,
    reward, exception, reward IS NOT NULL AS final, true AS verified, coalesce(reward = 1, false) AS strict, false AS readable
FROM unlogged_trials;

-- One row per use of a Skill resource: events without authoring and mentions, and without the agent's own skills.
CREATE VIEW uses AS
SELECT
    e.event AS event,  -- Id of the event.
    coalesce(t.trial, t.trajectory) AS run,  -- Name of the trial, or key of the foreign run.
    e.trajectory AS trajectory,  -- Key of the trajectory.
    e.ordinal AS ordinal,  -- 0-based number inside the trajectory.
    coalesce(e.file, t.source) AS source,  -- Raw file of the line.
    e.line AS line,  -- Place of the call or injection, as in events.
    e.quote AS quote,  -- A short piece of the evidence.
    e.agent AS agent,  -- "main" or the sub-agent's id.
    e.step AS step,  -- 1-based step of that agent; 0 before the first.
    coalesce(n.name, e.skill) AS skill,  -- Skill, by the name used in tables.
    e.resource AS resource,  -- Canonical path inside the skill; "." for a bare listing.
    e.resource_class AS resource_class,  -- root, support, code or data.
    e.kind AS kind,  -- activate, read, list, search, exec or import.
    e.via AS via,  -- How.
    e.ok AS ok,  -- Whether it succeeded; null if unknown.
    e.content_exposed AS content_exposed,  -- full, partial or none.
    e.phantom AS phantom,  -- True for a path that is not in the bundle.
    e.kind IN ('activate', 'read', 'exec', 'import') AND NOT e.phantom AS opens  -- Whether it opens a resource (a listing or a search does not).
FROM events AS e
JOIN trajectories AS t ON t.trajectory = e.trajectory
LEFT JOIN skill_names AS n ON n.trajectory = e.trajectory AND n.skill = e.skill AND n.name <> n.skill  -- few, a cheap join
WHERE e.counted AND NOT e.bundled;

-- One row per row of `verdict_counts` about uses, with their contribution to both ends of every rate of uptake.
CREATE VIEW judged_uses AS
SELECT
    coalesce(t.trial, t.trajectory) AS run,  -- Name of the trial, or key of the foreign run.
    coalesce(n.name, c.skill) AS skill,  -- Skill, by the name used in tables.
    c.resource AS resource,  -- Canonical path inside the skill.
    c.judge AS judge,  -- Name and version of the judge.
    c.label AS label,  -- yes, no or unknown.
    c.category AS category,  -- Reason, as a category.
    c.model AS model,  -- Model behind the judge.
    c.prompt_sha256 AS prompt_sha256,  -- Digest of the judge's prompt.
    is_open(c.label, c.category) AS open,  -- Whether they are unknown although content was shown.
    c.events AS events,  -- Uses with such a verdict.
    CASE WHEN c.label = 'yes' THEN c.events WHEN c.label = 'no' OR open THEN 0 END AS low,  -- Those that are yes; null if nothing was shown.
    CASE WHEN c.label = 'yes' OR open THEN c.events WHEN c.label = 'no' THEN 0 END AS high  -- Those that are yes or open; null if nothing was shown.
FROM verdict_counts AS c
JOIN trajectories AS t ON t.trajectory = c.trajectory
LEFT JOIN skill_names AS n ON n.trajectory = c.trajectory AND n.skill = c.skill AND n.name <> n.skill
WHERE NOT c.bundled;

-- One row per run with uses, and judge.
CREATE VIEW judged_runs AS
SELECT
    u.run AS run,  -- Name of the trial, or key of the foreign run.
    j.judge AS judge,  -- Name and version of the judge; null if no event was ever judged.
    any_value(u.events) AS events,  -- Uses of resources.
    CAST(coalesce(sum(v.events), 0) AS BIGINT) AS judged,  -- Uses with a verdict of this judge.
    CAST(coalesce(sum(v.low), 0) AS BIGINT) AS low,  -- Of these, yes.
    CAST(coalesce(sum(v.high), 0) AS BIGINT) AS high  -- Yes or open.
FROM (SELECT run, count(*) AS events FROM uses GROUP BY run) AS u
LEFT JOIN (SELECT DISTINCT judge FROM verdicts) AS j ON true
LEFT JOIN judged_uses AS v ON v.run = u.run AND v.judge = j.judge
GROUP BY u.run, j.judge;

-- One row per file that a trial's variant tells the agent to create; creating and using it is neither an edit nor a wrong path.
CREATE VIEW announced_files AS
SELECT
    t.trial AS trial,  -- Name of the trial.
    unnest(v.announced) AS path  -- Posix path inside the variant.
FROM trials AS t
JOIN variants AS v ON v.build = t.task AND v.variant = t.variant;

-- Contaminated trials.

-- Normal form of a name: folders and frontmatter spell one skill in different ways.
CREATE MACRO plain_name(name) AS
    regexp_replace(lower(regexp_extract(name, '[^:/]*$')), '[^\p{L}\p{N}]+', '-', 'g');

-- Whether a list names every skill. Some agents always list all; others shorten long lists, but none with fewer than a dozen entries.
CREATE MACRO is_whole_list(lists_every_skill, listed) AS lists_every_skill OR listed < 12;

-- One row per trial whose log lists Skills and Skill that the log lists or the variant has.
CREATE VIEW listed_skills AS
WITH logs AS (
    SELECT
        l.trajectory, l.trial, l.lists_every_skill, l.lists_folder_names, c.own_skills, s.accept_skills,
        coalesce(v.skills, []) AS skills, coalesce(v.plain, []) AS plain_skills
    FROM trajectories AS l
    JOIN trials AS t ON t.trial = l.trial
    JOIN conditions AS c ON c.condition = t.condition
    LEFT JOIN (SELECT *, list_transform(skills, lambda n: plain_name(n)) AS plain FROM variants) AS v
        ON v.build = t.task AND v.variant = t.variant
    CROSS JOIN (SELECT list_transform(accept_skills, lambda n: plain_name(n)) AS accept_skills FROM study) AS s
    WHERE l.offered_known AND (t.variant IS NULL OR v.variant IS NOT NULL)
),
named AS (
    SELECT l.*, o.skill, o.bundled, true AS listed FROM logs AS l JOIN offered AS o ON o.trajectory = l.trajectory
    UNION ALL
    SELECT l.*, u.skill, false AS bundled, false AS listed FROM logs AS l CROSS JOIN unnest(l.skills) AS u (skill)
),
compared AS (
    SELECT
        *,
        list_contains(plain_skills, plain) AS planned,
        list_contains(accept_skills, plain) OR (bundled AND own_skills) AS accepted
    FROM (SELECT *, plain_name(skill) AS plain FROM named)
    QUALIFY listed OR NOT bool_or(listed) OVER (PARTITION BY trajectory, plain)
)
SELECT
    trial AS trial,  -- Name of the trial.
    skill AS skill,  -- Name as listed; of a missing one, its folder in the variant.
    bundled AS bundled,  -- Whether it is the agent's own.
    listed AS listed,  -- Whether the log lists it.
    planned AS planned,  -- Whether the variant has it.
    accepted AS accepted,  -- Whether the study or the agent's options accept it.
    lists_every_skill AS lists_every_skill,  -- As in `trajectories`.
    lists_folder_names AS lists_folder_names,  -- As in `trajectories`.
    len(skills) AS skills,  -- Skills of the variant.
    count(*) FILTER (listed) OVER (PARTITION BY trajectory) AS names,  -- Names that the log lists.
    count(*) FILTER (NOT listed) OVER (PARTITION BY trajectory) AS missing,  -- Skills of the variant that it does not list.
    count(*) FILTER (listed AND NOT planned AND NOT bundled AND NOT accepted) OVER (PARTITION BY trajectory) AS strangers  -- Names, not of the agent's own or accepted ones, that the variant does not have.
FROM compared;

-- One row per trial whose log names its model. Trials for which one model is planned are answered by one, and those of one condition where none is planned and models may vary.
CREATE VIEW answering_models AS
SELECT
    l.trial AS trial,  -- Name of the trial.
    p.condition AS condition,  -- Name of its condition.
    l.model AS model,  -- Model that gave the main agent most answers.
    l.plain_model AS plain_model,  -- The same without provider, date and punctuation.
    l.model_date AS model_date,  -- Date in its name; null without one.
    coalesce(c.model, if(list_contains(s.vary, 'model'), c.condition, '')) AS planned  -- Planned model, else the condition, else empty: where it is the same, the model must be.
FROM trajectories AS l
JOIN planned_trials AS p ON p.trial = l.trial
JOIN conditions AS c ON c.condition = p.condition
CROSS JOIN study AS s
WHERE l.model IS NOT NULL;

-- One row per planned model: the one that answered most of its trials; of several, that with the planned name.
CREATE VIEW usual_models AS
SELECT
    planned AS planned,  -- As in `answering_models`.
    min(model) AS model,  -- Model that answered most trials.
    plain_model AS plain_model,  -- The same without provider, date and punctuation.
    model_date AS model_date,  -- Date in its name; null without one.
    likes AS trials,  -- Trials that it answered.
    total AS total  -- Trials whose logs name a model.
FROM (
    SELECT
        *,
        count(*) OVER (PARTITION BY planned) AS total,
        count(*) OVER (PARTITION BY planned, plain_model) AS likes
    FROM answering_models
)
GROUP BY planned, plain_model, model_date, likes, total
QUALIFY row_number() OVER (
    PARTITION BY planned
    ORDER BY likes DESC, contains(plain_model, lower(replace(planned, '.', '-'))) DESC, plain_model,
        model_date IS NULL, count(*) DESC, model_date
) = 1;

-- Whether a name without a version, such as sonnet, may stand for a model.
CREATE MACRO is_alias(name, model) AS NOT regexp_matches(name, '\d') AND contains(model, name);

-- One row per reason why a trial is contaminated: it is invalid for the design and should be rerun.
CREATE VIEW contaminations AS
WITH listed_skills AS MATERIALIZED (FROM listed_skills)
SELECT
    p.trial AS trial,  -- Name of the trial.
    'skill_in_no_skill_arm' AS flag,  -- Kind of contamination.
    count(*) || ' uses of ' || string_agg(DISTINCT u.skill, ', ' ORDER BY u.skill) AS detail  -- Evidence.
FROM planned_trials AS p
JOIN conditions AS c ON c.condition = p.condition AND c.variant IS NULL
JOIN uses AS u ON u.run = p.trial AND u.content_exposed <> 'none'
GROUP BY p.trial
UNION ALL
SELECT
    trial, 'other_skill_offered',
    'the log lists ' || string_agg(skill, ', ' ORDER BY skill) || ', which its condition does not offer'
FROM listed_skills
WHERE NOT planned AND NOT accepted AND (bundled OR lists_folder_names OR strangers > missing)
GROUP BY trial
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
    a.trial, 'other_model',
    'answered by ' || a.model || '; ' || u.trials || ' of ' || u.total || ' trials for which the same model is planned, by '
    || u.model
FROM answering_models AS a
JOIN usual_models AS u ON u.planned = a.planned
WHERE (a.plain_model <> u.plain_model
        AND NOT is_alias(a.plain_model, u.plain_model) AND NOT is_alias(u.plain_model, a.plain_model))
    OR (a.plain_model = u.plain_model AND a.model_date <> u.model_date)
UNION ALL
SELECT
    t.trial, 'other_variant',
    'planned ' || coalesce(c.variant, 'none') || ', ran ' || coalesce(t.variant, 'none')
FROM trials AS t
JOIN planned_trials AS p ON p.trial = t.trial
JOIN conditions AS c ON c.condition = p.condition
WHERE c.variant IS DISTINCT FROM t.variant
    AND c.variant || '-' || p.number IS DISTINCT FROM t.variant  -- one Skill per trial
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
FROM listed_skills
-- Where names in the frontmatter are listed, a stranger may be a missing one.
WHERE NOT listed AND NOT accepted
    AND (missing = skills
        OR (is_whole_list(lists_every_skill, names) AND (lists_folder_names OR strangers < missing)))
GROUP BY trial;

-- One row per row of `all_runs` that counts: the frame of every rate. With `healthy_first`, these are the first trials of a cell in this order: usable with a reward, usable without one (such as a time-out), the others; each by number.
CREATE VIEW runs AS
SELECT
    r.run AS run,  -- Name of the trial, or key of the foreign run.
    r.task AS task,  -- Name of the task; null for a foreign run outside a harness's trial.
    r.condition AS condition,  -- Name of the condition; "observed" for a foreign run.
    r.position AS position,  -- Place of the condition in the study file.
    r.status AS status,  -- As in `all_runs`.
    r.reward AS reward,  -- Reward of the verifier; null for none.
    r.exception AS exception,  -- Class of the agent's exception; null for a normal end.
    r.reason AS reason,  -- As in `all_runs`.
    r.final AS final,  -- Whether the outcome is final.
    r.verified AS verified,  -- As in `all_runs`.
    r.strict AS strict,  -- As in `all_runs`.
    r.readable AS readable,  -- Whether it has a readable log.
    x.trial IS NOT NULL AS contaminated  -- Whether it is contaminated.
FROM all_runs AS r
LEFT JOIN (SELECT DISTINCT trial FROM contaminations) AS x ON x.trial = r.run
LEFT JOIN study AS s ON r.status <> 'observed'
QUALIFY s.healthy_first IS NULL OR s.healthy_first >= row_number() OVER (
    PARTITION BY r.task, r.condition
    ORDER BY r.final AND x.trial IS NULL DESC, r.reward IS NOT NULL DESC, r.number
);

-- One row per row of `runs`, as figures of an arm may use it: a planned trial is usable if its outcome is final, it is not contaminated and its arm has as many such trials as the study demands; a foreign run always.
CREATE VIEW arm_runs AS
WITH r AS MATERIALIZED (FROM runs),
usable AS (SELECT condition, count(*) FILTER (final AND NOT contaminated) AS trials FROM r GROUP BY condition)
SELECT
    r.run AS run,  -- Name of the trial, or key of the foreign run.
    r.task AS task,  -- Name of the task.
    r.condition AS condition,  -- Name of the condition.
    r.position AS position,  -- Place of the condition in the study file.
    r.status AS status,  -- As in `runs`.
    r.reward AS reward,  -- Reward of the verifier; null for none.
    r.exception AS exception,  -- Class of the agent's exception; null for a normal end.
    r.reason AS reason,  -- As in `runs`.
    r.final AS final,  -- Whether the outcome is final.
    r.verified AS verified,  -- As in `runs`.
    r.strict AS strict,  -- As in `runs`.
    r.readable AS logged,  -- Whether it has a readable log, usable or not.
    CASE
        WHEN r.contaminated THEN 'contaminated'
        WHEN r.status <> 'observed' AND NOT r.final THEN coalesce(r.reason, r.status)
        WHEN s.fewest_usable > u.trials THEN 'under_' || s.fewest_usable || '_usable'
    END AS unusable,  -- Why no figure of its arm may use it: contaminated, missing, no_answer, unscored, error, no_log, or under_20_usable if its arm has fewer than 20; null if usable.
    unusable IS NULL AS usable,  -- Whether figures may use it.
    r.readable AND unusable IS NULL AS readable  -- Whether it is usable and has a readable log.
FROM r JOIN usable AS u ON u.condition = r.condition
LEFT JOIN study AS s ON r.status <> 'observed';

-- Says how many trials of an arm are usable, from the reasons of all its trials; null if all are.
CREATE MACRO usable_words(arm, reasons) AS if(list_count(reasons) = 0, NULL, concat(
    len(reasons) - list_count(reasons), ' of ', len(reasons), ' trials of ', arm, ' usable (',
    array_to_string(list_transform(list_sort(list_distinct(reasons)), lambda one:
        len(list_filter(reasons, lambda each: each = one)) || ' ' || one), ', '), ')'
));

-- Verdicts of the gates on planted changes.

-- One row per assayed build and kind of change. Builds of one source with the same variants count once, because the changes planted in them are the same.
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
        }]}') AS stored
    FROM builds WHERE assay IS NOT NULL
),
once AS (
    SELECT build, builds, stored FROM read JOIN twins USING (build)
    QUALIFY row_number() OVER (
        PARTITION BY content, stored.policy ORDER BY stored.sites DESC, build
    ) = 1
),
flat AS (SELECT build, builds, stored, unnest(stored.rows) AS found FROM once)
SELECT
    build AS build,  -- Name of the build.
    builds AS builds,  -- Builds with the same source and variants, including this one.
    stored.policy AS policy,  -- Severity policy of the verdicts.
    stored.seed AS seed,  -- Random seed for the places.
    stored.sites AS sites,  -- Maximum places per kind of change and variant.
    found.mutation AS mutation,  -- Kind of change.
    found.drift AS drift,  -- Whether it changes what an agent must do; false for a harmless change.
    found.mutants AS planted,  -- Changes planted and judged.
    found.equivalent AS equivalent,  -- Changes excluded, because the text is the same without white space, list markers and emphasis.
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

-- 0.975 quantile of Student's distribution from 7 degrees of freedom on, to 3 digits after the point (Abramowitz and Stegun, 26.7.5).
CREATE MACRO student_975(freedom) AS
    1.959964 + 2.372271 / freedom + 2.822500 / (freedom * freedom) + 2.555850 / pow(freedom, 3)
    + 1.589534 / pow(freedom, 4);

-- End of the 95 % interval of a share over clusters, by a jackknife of its log odds over them; `parts` and `others` are lists of counts by cluster. Null for fewer than 8 clusters, where one has all of a kind, and without variation.
CREATE MACRO share_end(parts, others, side) AS (
    WITH odds AS (
        SELECT
            ln(nullif(list_sum(parts), 0) / nullif(list_sum(others), 0)) AS whole,
            list_transform(list_zip(parts, others), lambda z:
                ln(nullif(list_sum(parts) - z[1], 0) / nullif(list_sum(others) - z[2], 0))) AS without
    )
    SELECT if(
        len(without) >= 8 AND list_count(without) = len(without) AND list_var_pop(without) > 1e-18,
        1 / (1 + exp(-whole - side * student_975(len(without) - 1) * sqrt((len(without) - 1) * list_var_pop(without)))),
        NULL
    )
    FROM odds
);

-- Why there is no such interval; null where there is one.
CREATE MACRO share_reason(parts, others, clusters) AS
    CASE
        WHEN coalesce(list_sum(parts) + list_sum(others), 0) = 0 OR share_end(parts, others, 1) IS NOT NULL THEN NULL
        WHEN len(parts) < 8 THEN 'fewer than 8 ' || clusters
        WHEN list_sum(parts) = 0 OR list_sum(others) = 0 THEN 'no variation between ' || clusters
        ELSE 'one of the ' || clusters || ' holds all of one kind, or all are alike'
    END;
-- Newcombe's 95 % interval of the difference of two shares (1998, method 10); null where either has nothing.
CREATE MACRO newcombe_low(part, whole, part_before, whole_before) AS
    part / nullif(whole, 0) - part_before / nullif(whole_before, 0) - sqrt(
        (part / nullif(whole, 0) - wilson_low(part, whole)) ^ 2
        + (wilson_high(part_before, whole_before) - part_before / nullif(whole_before, 0)) ^ 2
    );
CREATE MACRO newcombe_high(part, whole, part_before, whole_before) AS
    -newcombe_low(part_before, whole_before, part, whole);

-- Two-sided p of Fisher's exact test: `part` of `whole` against `part_before` of `whole_before`; all tables with the same sums that are no likelier count.
CREATE MACRO ln_choose(n, k) AS lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1);
CREATE MACRO fisher_p(part, whole, part_before, whole_before) AS (
    WITH tables AS (
        SELECT list_transform(
            range(greatest(0, part + part_before - whole_before), least(whole, part + part_before) + 1), lambda k:
            exp(ln_choose(whole, k) + ln_choose(whole_before, part + part_before - k)
                - ln_choose(whole + whole_before, part + part_before))
        ) AS chances
    )
    SELECT least(1, list_sum(list_filter(chances, lambda chance:
        chance <= 1.0000001 * chances[1 + part - greatest(0, part + part_before - whole_before)])))
    FROM tables
);

-- Side 1, actual, or 2, expected, of a failed comparison of pytest, `assert actual == expected`; null where the words of a failure have no such line, and where it is shortened or has several operators.
CREATE MACRO comparison_in(said) AS list_filter(
    regexp_extract_all(said, '(?m)^assert (.+)$', 1), lambda line: len(said) < 300 AND NOT contains(line, '...')
    AND len(regexp_extract_all(line, ' (?:[=!<>]=|[<>]|in|is|and|or|not|[-+*/%]|//|[*][*]) ')) = 1
)[1];
CREATE MACRO side_in(said, side) AS
    nullif(regexp_extract(comparison_in(said), '^(.+) (?:[=<>]=|[<>]) (.+)$', side), '');

-- Words of a text, those with a path or a unit also whole; 15.0 is 15.
CREATE MACRO whole_number(word) AS regexp_replace(word, '^(\d+)\.0+$', '\1');
CREATE MACRO words_in(text) AS list_transform(list_concat(
    regexp_extract_all(text, '[\p{L}\p{N}_.+%/-]*[\p{L}\p{N}_%]'),
    regexp_extract_all(text, '[\p{L}\p{N}_]+(?:[.-][\p{L}\p{N}_]+)*')
), lambda word: whole_number(word));
-- Words of a text by which it can be known again: those alone in quotes or with a digit, of two characters and more.
CREATE MACRO values_in(text) AS list_distinct(list_transform(list_filter(list_concat(
    regexp_extract_all(text, '[''"]([\p{L}\p{N}_.+%/-]*[\p{L}\p{N}_%])[''"]', 1),
    list_filter(
        regexp_extract_all(text, '[\p{L}\p{N}_]+(?:[.-][\p{L}\p{N}_]+)*'), lambda word: regexp_matches(word, '\d')
    )
), lambda word: len(word) > 1), lambda word: whole_number(word)));

-- Formulas that questions share.


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
    CASE sign(delta) WHEN 1 THEN 'better' WHEN -1 THEN 'worse' WHEN 0 THEN 'equal' END || ', '
    || CASE sign(overhead) WHEN 1 THEN 'dearer' WHEN -1 THEN 'cheaper' WHEN 0 THEN 'same cost' END;
