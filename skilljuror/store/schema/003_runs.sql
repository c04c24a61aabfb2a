-- What the logs say. Rows point into the raw files by line; no message bodies are kept.

-- One row per file or folder that ingest looked at.
CREATE TABLE sources (
    path VARCHAR NOT NULL,  -- Path as found.
    status VARCHAR NOT NULL,  -- parsed, duplicate, skipped or error.
    format VARCHAR,  -- Format that claims it.
    reason VARCHAR,  -- Why it was skipped, is an error, or lost to another capture.
    size BIGINT  -- Bytes.
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
    offered_known BOOLEAN NOT NULL,  -- Whether the log says which skills were shown to the model.
    units INTEGER,  -- Knowledge units that stand in the offered variant; null without a knowledge map.
    shown_bytes BIGINT  -- Bytes of skill text shown, repeats included; null when it was not determined.
);

-- One row per step of an agent.
CREATE TABLE steps (
    trajectory VARCHAR NOT NULL,  -- Key of the run.
    agent VARCHAR NOT NULL,  -- "main" or the sub-agent's id.
    step INTEGER NOT NULL,  -- 1-based number of that agent's step.
    file VARCHAR,  -- Raw file of the line, where it is not the main log.
    line INTEGER NOT NULL,  -- 1-based raw line.
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
    line INTEGER NOT NULL,  -- 1-based raw line of the call or injection.
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
    note VARCHAR NOT NULL  -- Free text.
);

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

-- One row per number about one trial, or about one run in observed mode.
CREATE TABLE measures (
    trial VARCHAR NOT NULL,  -- Trial, or the key of the run in observed mode.
    metric VARCHAR NOT NULL,  -- Name of the measure.
    key VARCHAR NOT NULL,  -- Sub-key; empty for none.
    value DOUBLE,  -- The number; null when it could not be computed.
    reason VARCHAR  -- Why the value is null.
);
