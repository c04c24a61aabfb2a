-- What the gates did with changes that were planted, as rows.

-- One row per assayed build and kind of change. Builds of one source with the same variants stand for one: the changes planted in them are the same, and counting them twice would feign certainty.
CREATE VIEW assays AS
WITH contents AS (
    SELECT
        build,
        coalesce(string_agg(variant || ' ' || tree_digest, ' ' ORDER BY variant), build) AS content
    FROM builds LEFT JOIN variants USING (build) GROUP BY build
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
