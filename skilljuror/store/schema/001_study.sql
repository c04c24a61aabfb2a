-- What was planned and what was run.

-- One row per schema file that this database has been given, in order.
CREATE TABLE schema_history (
    version INTEGER NOT NULL,  -- Number of the schema file.
    name VARCHAR NOT NULL,  -- Name of the schema file, without its number.
    sha256 VARCHAR NOT NULL  -- Digest of the schema file as applied.
);

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
    substrate_digest VARCHAR NOT NULL  -- What must be equal across conditions: instruction, environment and verifier.
);

-- One row per attribute of a task.
CREATE TABLE task_attributes (
    task VARCHAR NOT NULL,  -- Name of the task.
    attribute VARCHAR NOT NULL,  -- Name of the attribute, such as validation_type.
    value VARCHAR NOT NULL  -- Its value.
);

-- One row per arm of the study.
CREATE TABLE conditions (
    condition VARCHAR NOT NULL,  -- Name of the condition.
    position INTEGER NOT NULL,  -- 0-based place in the study file.
    variant VARCHAR,  -- Variant that the agent is offered; null offers no Skill.
    role VARCHAR  -- treatment or control of the headline; null for the others.
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
    agent VARCHAR NOT NULL,  -- Name of the agent.
    agent_version VARCHAR,  -- Version of the agent.
    model VARCHAR,  -- Model; null for an agent without one.
    scripted BOOLEAN NOT NULL,  -- True when a scripted policy ran: its figures say nothing about real agents.
    harness VARCHAR NOT NULL,  -- Name of the harness.
    isolation VARCHAR NOT NULL,  -- How the trial was kept apart: bwrap, none, docker, ….
    config_digest VARCHAR NOT NULL,  -- Digest of the plan it ran under.
    substrate_digest VARCHAR NOT NULL,  -- Digest of instruction, environment and verifier as run.
    variant VARCHAR,  -- Variant offered; null for no Skill.
    variant_digest VARCHAR,  -- Tree digest of the offered variant as it stood in the sandbox.
    skill_root VARCHAR,  -- Path of the skills folder as the agent saw it.
    started_at TIMESTAMP,  -- Start, UTC.
    finished_at TIMESTAMP,  -- End, UTC.
    agent_seconds DOUBLE,  -- Wall clock of the agent's execution, seconds; null when it never started.
    verifier_seconds DOUBLE,  -- Wall clock of the verifier, seconds; null when it never started.
    exit_code INTEGER,  -- Exit status of the agent; null after a timeout.
    usage_reason VARCHAR  -- Why tokens and cost are null, such as no_model.
);
