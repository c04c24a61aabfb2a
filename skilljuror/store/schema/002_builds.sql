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

-- One row per variant of a build; the source itself is the row without a parent.
CREATE TABLE variants (
    build VARCHAR NOT NULL,  -- Slug of the source.
    variant VARCHAR NOT NULL,  -- Name of the variant.
    parent VARCHAR,  -- The variant it was made from; null for the source.
    tree_digest VARCHAR NOT NULL,  -- sha256 over paths, execute bits and contents.
    skills VARCHAR[] NOT NULL,  -- Names of its skill folders.
    tokens BIGINT NOT NULL,  -- Tokens of all its text.
    root_lines INTEGER NOT NULL,  -- Lines of all its SKILL.md files.
    root_tokens BIGINT NOT NULL,  -- Tokens of all its SKILL.md files.
    verdict VARCHAR,  -- Worst verdict of its gates: pass, review or fail; null for the source.
    feasibility VARCHAR,  -- ok, over_read_limit or over_context for a flat variant; else null.
    expected_findings VARCHAR[] NOT NULL  -- Rules that a control is declared to break.
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
    policy VARCHAR NOT NULL,  -- Named policy: strict or llm.
    verdict VARCHAR NOT NULL,  -- pass, review (a person must look) or fail.
    checked MAP(VARCHAR, BIGINT) NOT NULL  -- How many things of each kind were compared.
);

-- One row per thing that a gate found.
CREATE TABLE findings (
    build VARCHAR NOT NULL,  -- Slug of the source.
    variant VARCHAR NOT NULL,  -- Variant that was judged.
    gate VARCHAR NOT NULL,  -- Name of the gate.
    position INTEGER NOT NULL,  -- 0-based place among the findings of this gate, worst first.
    rule VARCHAR NOT NULL,  -- Stable rule id.
    severity VARCHAR NOT NULL,  -- high, medium, low or info.
    file VARCHAR NOT NULL,  -- Path inside the variant, or inside the source for something missing.
    line INTEGER,  -- 1-based line in the file.
    source_text VARCHAR,  -- First 300 characters of the text in the source; null for something added.
    variant_text VARCHAR,  -- First 300 characters of the text in the variant; null for something missing.
    inherited BOOLEAN NOT NULL,  -- True when the source already had it.
    message VARCHAR NOT NULL  -- One line for a person.
);

-- One row per finding that a person has waived.
CREATE TABLE waivers (
    build VARCHAR NOT NULL,  -- Slug of the source.
    position INTEGER NOT NULL,  -- 0-based place in the build record.
    finding VARCHAR NOT NULL,  -- Id of the finding.
    reason VARCHAR NOT NULL  -- Why it may stand.
);
