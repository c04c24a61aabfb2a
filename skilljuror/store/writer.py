"""Writing: records become rows by tables.sql, each batch in one transaction that replaces earlier rows of the same names."""

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb

from skilljuror.base.errors import StoreError
from skilljuror.base.results import (
    CheckResult,
    JudgeCalls,
    UnitUse,
    Verdict,
)
from skilljuror.store.records import FileChanges, IngestSummary, as_json

if TYPE_CHECKING:  # ingest of logs loads no pydantic
    from skilljuror.base.build import VariantManifest
    from skilljuror.base.review import (
        Acceptance,
        JudgedAttribute,
        JudgedBuild,
    )
    from skilljuror.base.study import ArmSetting, Condition, StudyConfig, StudyPlan, TrialRecord

Row = dict[str, Any]

_SECTIONS = dict(
    section.split("\n", 1)
    for section in Path(__file__).with_name("tables.sql").read_text("utf-8").split("-- put ")[1:]
)
RUN_TABLES = dict(
    re.findall(r"DELETE FROM (\w+) USING named WHERE (\w+) = named", _SECTIONS["forgotten"])
)
"""Tables of which every row belongs to one run, or trial -> their column of it."""
_OF_FILES = {"TIMESTAMP": "VARCHAR"}
_OF_LOGS = {
    "TIMESTAMP": "DOUBLE",
    'STRUCT("first" INTEGER, "last" INTEGER)[]': "INTEGER[][]",
}
"""Types of columns -> types of the same values in the study's files, and in the rows of a log."""
_MACROS = r"""
CREATE OR REPLACE TEMP MACRO utc(text) AS if(
    regexp_matches(text, '(Z|[+-]\d\d:?\d\d)$'), make_timestamp(epoch_us(TRY_CAST(text AS TIMESTAMPTZ))), TRY_CAST(text AS TIMESTAMP)
);
CREATE OR REPLACE TEMP MACRO moment(seconds) AS CASE WHEN seconds BETWEEN -62135596800 AND 253402300799 THEN make_timestamp(
    CAST(floor(seconds) AS BIGINT) * 1000000 + CAST(round_even((seconds - floor(seconds)) * 1000000, 0) AS BIGINT)
) END
"""
"""ISO 8601 text, by default in UTC, as a time; and seconds since the epoch, null outside of the calendar."""


class Store:
    """The writer of the database. Writing the same records twice changes nothing."""

    def __init__(self, connection: duckdb.DuckDBPyConnection) -> None:
        self._connection = connection
        self._inside = False
        """True inside a transaction."""
        self._statements: dict[str, list[str]] = {}
        """Cache: kind of record -> its statements."""

    def put(
        self,
        kind: str,
        records: Iterable[Any] = (),
        names: Iterable[str] = (),
        judge: str | None = None,
    ) -> None:
        """Write records, or their JSON, by the section of tables.sql about their kind; `names` (and `judge`) are
        those whose earlier rows go."""
        with self.transaction():
            self._connection.execute(
                "CREATE OR REPLACE TEMP TABLE given AS SELECT n, j::JSON AS j FROM"
                " (SELECT unnest($records::VARCHAR[]) AS j, generate_subscripts($records::VARCHAR[], 1) - 1 AS n)",
                {"records": [as_json(record) for record in records]},
            )
            self._connection.execute(
                "CREATE OR REPLACE TEMP TABLE named AS SELECT unnest($names::VARCHAR[]) AS name, $judge::VARCHAR AS judge",
                {"names": list(names), "judge": judge},
            )
            counts = self._statements_of("verdict_counts") if kind == "runs" else ()
            for statement in (*self._statements_of(kind), *counts):
                self._connection.execute(statement)

    def put_plan(self, plan: "StudyPlan", judged: "Iterable[JudgedAttribute]" = ()) -> None:
        """Replace the plan: study, tasks, their attributes (a model's judgements included), conditions, trials."""
        self.put("plan", [plan_document(plan, judged)])

    def put_builds(
        self,
        builds: "Sequence[JudgedBuild]",
        given: "Iterable[tuple[str, VariantManifest]]" = (),
    ) -> None:
        """Write builds with the answers of gates and people, and Skills that are offered unchanged; each
        build replaces an earlier one of its name."""
        names = [build.record.name for build in builds]
        if double := sorted({name for name in names if names.count(name) > 1}):
            raise StoreError(
                f"duplicate build name {double[0]!r}: use a unique name for each build"
            )
        unchanged = [
            {"build": task, "manifests": [manifest.model_dump() | {"build": task, "layers": ""}]}
            for task, manifest in given
        ]
        names += [str(document["build"]) for document in unchanged]
        if names:
            self.put("builds", [*map(build_document, builds), *unchanged], names)

    def put_units(
        self, units: Sequence[Mapping[str, Any]], places: Sequence[Mapping[str, Any]]
    ) -> None:
        """Replace all knowledge units and their places."""
        self.put("units", units)
        self.put("unit_places", places)

    def put_attempts(
        self,
        attempts: "Sequence[tuple[int, TrialRecord]]",
        acceptances: "Sequence[Acceptance]" = (),
    ) -> None:
        """Replace all earlier attempts, with their numbers, and all acceptances by people."""
        self.put("attempts", [trial.model_dump() | {"attempt": n} for n, trial in attempts])
        self.put("acceptances", acceptances)

    def put_checks(self, trials: Sequence[str], checks: Sequence[CheckResult]) -> None:
        """Replace what the verifiers of some trials reported, test by test."""
        self.put("checks", checks, trials)

    def put_judged(
        self,
        judge: str,
        names: Mapping[str, str | None],
        verdicts: Sequence[Verdict],
        uses: Sequence[UnitUse] = (),
    ) -> None:
        """Replace the verdicts of a judge on some trials or foreign runs, with the units that it saw used.

        `names` maps each to the digest of the judge's input, or None.
        """
        inputs = [
            {"trial": name, "judge": judge, "input": digest}
            for name, digest in names.items()
            if digest is not None
        ]
        with self.transaction():
            self.put("judged", inputs, names, judge)
            self.put("verdicts", verdicts)
            self.put("unit_uses", uses)
            self.put("verdict_counts", (), names)

    def put_judge_calls(
        self, judge: str, names: Sequence[str], calls: Sequence[JudgeCalls]
    ) -> None:
        """Replace the model calls for some trials or foreign runs."""
        self.put("judge_calls", calls, names, judge)

    def forget(self, runs: Iterable[str], sources: Iterable[str] = ()) -> None:
        """Remove runs, or trials without one, with all their rows, and rows of files that are no longer sources."""
        gone, paths = list(runs), list(sources)
        if gone:
            self.put("forgotten", (), gone)
        if paths:
            self.rows("DELETE FROM sources WHERE path IN (SELECT unnest($paths))", {"paths": paths})

    def forget_trials(self, trials: Sequence[str]) -> None:
        """Remove trials with all their rows."""
        if trials:
            with self.transaction():
                self.forget(trials)
                self.rows(
                    "DELETE FROM trials WHERE trial IN (SELECT unnest($names))", {"names": trials}
                )

    def remove_quotes(self) -> None:
        """Remove previews, quotes and names of projects and persons from all rows and from the file."""
        with self.transaction():
            for change in (
                "steps SET preview = ''",
                "leak_searches SET excerpt = ''",
                "trajectories SET project = NULL, person = NULL",
                "events SET quote = '', note = ''",
                "verdicts SET source_quote = NULL, action_quote = NULL, note = ''",
                "check_results SET said = NULL",
            ):
                self._connection.execute(f"UPDATE {change}")
        self._connection.execute("CHECKPOINT")

    def judged(self, judge: str) -> dict[str, str]:
        """Trial or foreign run -> digest of the judge's input."""
        return dict(
            self.rows("SELECT trial, input FROM judged WHERE judge = $judge", {"judge": judge})
        )

    def verdicts(self, judge: str, names: Sequence[str]) -> list[Verdict]:
        """Return the verdicts of a judge on some trials or foreign runs."""
        fields = [name for name in Verdict.__struct_fields__ if name != "used"]
        rows = self.rows(
            f"SELECT {', '.join(fields)} FROM verdicts"  # noqa: S608
            " WHERE judge = $judge AND trial IN (SELECT unnest($names::VARCHAR[])) ORDER BY event",
            {"judge": judge, "names": list(names)},
        )
        return [Verdict(**dict(zip(fields, row, strict=True))) for row in rows]

    def names(self, sql: str) -> set[str]:
        """Return the values of a one-column answer."""
        return {value for (value,) in self.rows(sql)}

    def rows(self, sql: str, params: Mapping[str, Any] | None = None) -> list[Any]:
        """Run a statement and return its rows."""
        return self._connection.execute(sql, params).fetchall()

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Write all of the block or nothing."""
        if self._inside:
            yield
            return
        self._inside = True
        self._connection.execute("BEGIN")
        try:
            yield
        except BaseException:
            self._connection.execute("ROLLBACK")
            raise
        finally:
            self._inside = False
        self._connection.execute("COMMIT")

    def _statements_of(self, kind: str) -> list[str]:
        """The statements of a section, with the columns of the tables that it names."""
        if kind not in self._statements:
            if not self._statements:
                self._connection.execute(_MACROS)
            text = re.sub(
                r"':([a-z_]+)'",
                lambda name: f"'{self._structure(name[1], _OF_FILES)}'",
                _SECTIONS[kind],
            )
            text = re.sub(r"~([a-z_]+)", lambda name: self._structure(name[1], _OF_LOGS), text)
            found = self._connection.extract_statements(text)
            self._statements[kind] = [statement.query for statement in found]
        return self._statements[kind]

    def _structure(self, table: str, types: Mapping[str, str]) -> str:
        """The columns of a table and their types as a structure for from_json."""
        relation = self._connection.table(table)
        columns = dict(zip(relation.columns, map(str, relation.types), strict=True))
        return json.dumps({name: types.get(kind, kind) for name, kind in columns.items()})


def plan_document(plan: "StudyPlan", judged: "Iterable[JudgedAttribute]" = ()) -> Row:
    """Return a plan as tables.sql reads it."""
    config = plan.config
    treatment, control = headline(config)
    roles = {treatment: "treatment", control: "control"}
    adopted = not any(task.environment_digest for task in plan.tasks)
    agents = [config.agent_of(arm) for arm in config.conditions]
    study = dict(config) | {
        "study": config.name, "skilljuror_version": plan.skilljuror_version, "config_digest": plan.config_digest,
        "treatment": treatment, "control": control, "harness": config.harness.name, "agent": config.agent.name,
        "model": config.agent.model, "effort": config.agent.effort, "config": config.model_dump_json(),
    }  # fmt: skip
    arms = [
        {
            "condition": arm.name, "position": position, "variant": arm.offers, "role": roles.get(arm.name),
            "disclosure": arm.disclosure or config.disclosure, "agent": agent.name, "model": agent.model,
            "effort": agent.effort, "own_skills": bool(agent.options.get("bundled_skills", adopted)),
            "setting": setting(config, arm),
        }
        for position, (arm, agent) in enumerate(zip(config.conditions, agents, strict=True))
    ]  # fmt: skip
    tasks = [
        dict(task)
        | {
            "task": task.name, "position": position, "substrate_digest": task.substrate_digest,
            "settings_digest": task.settings_digest or None,
        }
        for position, task in enumerate(plan.tasks)
    ]  # fmt: skip
    return {
        "study": study, "arms": arms, "tasks": tasks, "trials": plan.trials, "excluded": plan.excluded,
        "judged": list(judged),
    }  # fmt: skip


def headline(config: "StudyConfig") -> tuple[str | None, str | None]:
    """Return treatment and control: as declared, else the last condition and the nearest before it that
    differs in one setting at most."""
    if config.contrast:
        return config.contrast.treatment, config.contrast.control
    *before, last = config.conditions
    for arm in reversed(before):
        if len(differing(config, last, arm)) < 2:
            return last.name, arm.name
    return None, None


def differing(config: "StudyConfig", one: "Condition", other: "Condition") -> "list[ArmSetting]":
    """Return the settings in which two arms differ."""
    after = config.settings(other)
    return [name for name, value in config.settings(one).items() if value != after[name]]


def setting(config: "StudyConfig", arm: "Condition") -> str:
    """Return everything of an arm but its Skill, JSON: arms with the same one differ in the Skill alone."""
    return json.dumps({k: v for k, v in config.settings(arm).items() if k != "skill"})


def build_document(build: "JudgedBuild") -> Row:
    """Return a build with the answers of gates and people as tables.sql reads it."""
    record, notes, layers = build.record, build.review_notes, build.layers
    row = record.model_dump() | {
        "build": record.name,
        "source_digest": record.source.tree_digest,
        "options": json.dumps(record.options, sort_keys=True),
        "assay": None if record.assay is None else json.dumps(record.assay, sort_keys=True),
    }
    manifests = [
        manifest.model_dump()
        | {
            "build": record.name,
            "waivers": notes.get(manifest.variant),
            "layers": ", ".join(layers.get(manifest.variant, ())),
        }
        for manifest in (record.source, *record.variants)
    ]
    results = [
        dict(result)
        | {"findings": [dict(finding) | {"id": finding.id} for finding in result.findings]}
        for result in build.results
    ]
    decisions = [
        state.decision.model_dump()
        | state._asdict()
        | {"adjudication": state.decision.adjudication, "decision": None}
        for state in build.decisions
    ]
    return {
        "build": record.name, "row": row, "manifests": manifests, "results": results, "decisions": decisions,
        "waivers": [waiver.model_dump() | {"stale": stale} for waiver, stale in build.waivers],
        "items": [one.model_dump() | {"answer": one.answer, "outcome": one.outcome} for one in build.items],
    }  # fmt: skip


_STATUSES = """
SELECT status, if(status = 'error', path, NULL), reason, count(*)
FROM sources WHERE path IN (SELECT unnest($paths::VARCHAR[])) GROUP BY ALL ORDER BY 4 DESC, 1, 2, 3
"""
_SELECTED = """
CREATE OR REPLACE TEMP TABLE selected AS
SELECT run FROM readings WHERE digest IN (SELECT digest FROM files WHERE path IN (SELECT unnest($paths::VARCHAR[])))
UNION SELECT trajectory FROM trajectories WHERE source IN (SELECT unnest($paths::VARCHAR[]))
"""
_COUNTS = """
SELECT
    (SELECT count(*) FROM trajectories WHERE trajectory IN (FROM selected)),
    (SELECT count(*) FROM unlogged_trials WHERE trial IN (FROM selected)),
    (SELECT coalesce(sum(steps + sub_steps), 0) FROM trajectories WHERE trajectory IN (FROM selected)),
    (SELECT count(DISTINCT skill) FROM events WHERE trajectory IN (FROM selected)),
    (SELECT count(*) FROM events WHERE trajectory IN (FROM selected)),
    (SELECT count(*) FROM kept_runs WHERE trajectory IN (FROM selected))
"""
_UNKNOWN_TOOLS = """
SELECT tool, CAST(sum(calls) AS BIGINT) AS calls, count(*) FILTER (WHERE len(skills) > 0)
FROM unknown_tools WHERE trajectory IN (FROM selected) GROUP BY tool ORDER BY calls DESC, tool
"""


def summary_of(
    store: Store, paths: Sequence[str], trials: int = 0, counts: FileChanges | None = None
) -> IngestSummary:
    """Return what is stored of some files."""
    statuses = store.rows(_STATUSES, {"paths": list(paths)})
    store.rows(_SELECTED, {"paths": list(paths)})
    ((runs, unlogged, steps, skills, events, kept),) = store.rows(_COUNTS)
    files: Counter[str] = Counter()
    for status, _, _, count in statuses:
        files[status] += count
    return IngestSummary(
        trials=trials,
        parsed=files["parsed"] + files["part"],
        duplicates=files["duplicate"],
        skipped=files["skipped"],
        errors=files["error"],
        trajectories=runs,
        unlogged=unlogged,
        steps=steps,
        skills=skills,
        events=events,
        unread=tuple(
            (reason, count)
            for status, _, reason, count in statuses
            if reason is not None and status not in {"error", "part"}
        ),
        failures=tuple(
            sorted((path, reason or "unknown") for _, path, reason, _ in statuses if path)
        ),
        remade=False,
        unknown_tools=tuple(store.rows(_UNKNOWN_TOOLS)),
        kept=kept,
        **(counts or FileChanges())._asdict(),
    )
