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
    action_line INTEGER,  -- Raw line of that action.
    model VARCHAR,  -- Model behind the judge; null for a judge without one.
    prompt_sha256 VARCHAR,  -- Digest of the judge's prompt.
    note VARCHAR NOT NULL  -- Free text.
);
