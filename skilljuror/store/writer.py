"""Write batches that replace earlier rows with the same keys, each in one transaction."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import duckdb

from skilljuror.base.errors import StoreError
from skilljuror.base.results import (
    CheckResult,
    Generation,
    JudgeCalls,
    LocalEffect,
    RepeatedVerdict,
    SeenFile,
    SourceRow,
    UnitUse,
    UnloggedTrial,
    Verdict,
)
from skilljuror.store import plans, tables
from skilljuror.store.runs import RUN_TABLES, RunColumns, merge_batches, run_names
from skilljuror.store.seen import SeenFiles
from skilljuror.store.tables import Columns, Row, Table
from skilljuror.store.values import without_misfits

if TYPE_CHECKING:  # ingest of logs loads no pydantic
    from skilljuror.base.build import VariantManifest
    from skilljuror.base.review import (
        Acceptance,
        Decision,
        JudgedAttribute,
        JudgedBuild,
        SampledUse,
    )
    from skilljuror.base.study import StudyPlan, TrialRecord

_RUNS = """
SELECT trajectory, source FROM trajectories UNION ALL SELECT trial, source FROM unlogged_trials
ORDER BY ALL
"""


class Store:
    """The writer of the database. Writing the same records twice changes nothing."""

    def __init__(self, connection: duckdb.DuckDBPyConnection) -> None:
        self._connection = connection
        self.seen = SeenFiles(connection)
        """Records of ingested files."""
        self._inside = False
        """True inside a transaction."""
        self._types: dict[str, dict[str, str]] = {}
        """Cache: table -> column -> type."""
        self._known_runs: dict[str, set[str]] = {}
        """Cache: table -> names of its runs; rows of new runs need no deletion."""
        self._judged: dict[str, set[str]] = {}
        """Cache: judge -> trials and foreign runs with its verdicts."""

    def put_plan(self, plan: "StudyPlan") -> None:
        """Replace the plan: study, tasks, attributes, conditions and planned trials."""
        with self.transaction():
            for table, records in plans.plan_rows(plan):
                self._delete_all(table.name)
                self._insert_records(table, records)

    def put_attributes(self, plan: "StudyPlan", judged: "Iterable[JudgedAttribute]") -> None:
        """Replace the attributes of the tasks, including those judged by a model."""
        with self.transaction():
            self._delete_all(tables.TASK_ATTRIBUTES.name)
            self._insert_records(tables.TASK_ATTRIBUTES, list(plans.attribute_rows(plan, judged)))

    def put_builds(
        self,
        builds: "Sequence[JudgedBuild]",
        given: "Iterable[tuple[str, VariantManifest]]" = (),
    ) -> None:
        """Write builds with the answers of gates and people, and Skills that are offered unchanged; each
        build replaces an earlier one of its name."""
        unchanged = list(given)
        if not builds and not unchanged:
            return
        names = [build.record.name for build in builds]
        if len(set(names)) < len(names):
            double = sorted({name for name in names if names.count(name) > 1})
            raise StoreError(
                f"duplicate build name {double[0]!r}: use a unique name for each build"
            )
        with self.transaction():
            names = sorted({*names, *(task for task, _ in unchanged)})
            for table, records in plans.build_rows(builds, unchanged):
                self._delete_matching(table, {"build": names})
                self._insert_records(table, records)

    def put_given(self, rows: Iterable[Any]) -> None:
        """Replace the rows of Skills that conditions offer unchanged."""
        with self.transaction():
            self._delete_all(tables.GIVEN_SKILLS.name)
            self._insert_records(tables.GIVEN_SKILLS, list(rows))

    def put_generations(self, rows: Iterable[Generation]) -> None:
        """Replace the rows of generated Skills."""
        with self.transaction():
            self._delete_all(tables.GENERATIONS.name)
            self._insert_records(tables.GENERATIONS, list(rows))

    def put_skill_leaks(self, rows: Iterable[Any]) -> None:
        """Replace the leaks of the Skills."""
        with self.transaction():
            self._delete_all(tables.SKILL_LEAKS.name)
            self._insert_records(tables.SKILL_LEAKS, list(rows))

    def put_units(self, units: Sequence[Row], places: Sequence[Row]) -> None:
        """Replace all knowledge units and their places."""
        with self.transaction():
            for table, rows in ((tables.UNITS, units), (tables.UNIT_PLACES, places)):
                self._delete_all(table.name)
                self._insert_records(table, rows)

    def builds(self) -> set[str]:
        """Return the names of the builds."""
        return self._column_values("SELECT build FROM builds")

    def remove_quotes(self) -> None:
        """Remove previews, quotes and names of projects and persons from all rows and from the file."""
        with self.transaction():
            self._connection.execute("UPDATE steps SET preview = ''")
            self._connection.execute("UPDATE leak_searches SET excerpt = ''")
            self._connection.execute("UPDATE trajectories SET project = NULL, person = NULL")
            self._connection.execute("UPDATE events SET quote = '', note = ''")
            self._connection.execute(
                "UPDATE verdicts SET source_quote = NULL, action_quote = NULL, note = ''"
            )
            self._connection.execute("UPDATE effects SET quote = NULL")
            self._connection.execute("UPDATE check_results SET said = NULL")
        self._connection.execute("CHECKPOINT")

    def trials(self) -> set[str]:
        """Return the names of the study's trials with any row."""
        return self._column_values(
            "SELECT trial FROM trials UNION SELECT trajectory FROM trajectories"
        )

    def sources(self) -> set[str]:
        """Return the paths of the sources."""
        return self._column_values("SELECT path FROM sources")

    def runs(self) -> list[tuple[str, str]]:
        """(key, source) of every run, and (trial, folder) of every foreign trial without one."""
        return self._connection.execute(_RUNS).fetchall()

    def put_trials(self, trials: "Sequence[TrialRecord]") -> None:
        """Write finished trials."""
        self._put(tables.TRIALS, _last_per_key(trials, "trial"))

    def put_attempts(
        self,
        attempts: "Sequence[tuple[int, TrialRecord]]",
        acceptances: "Sequence[Acceptance]" = (),
    ) -> None:
        """Replace all earlier attempts, with their numbers, and all acceptances by people."""
        with self.transaction():
            for table, records in ((tables.ATTEMPTS, attempts), (tables.ACCEPTANCES, acceptances)):
                self._delete_all(table.name)
                self._insert_records(table, records)

    def put_checks(self, trials: Sequence[str], checks: Sequence[CheckResult]) -> None:
        """Replace what the verifiers of some trials reported, test by test."""
        with self.transaction():
            self._connection.execute(
                "DELETE FROM check_results WHERE item_group IS NULL AND list_contains($trials, trial)",
                {"trials": list(trials)},
            )
            self._insert_records(tables.CHECK_RESULTS, checks)

    def put_items(self, items: Sequence[CheckResult]) -> None:
        """Replace the items of all rubrics."""
        with self.transaction():
            self._connection.execute("DELETE FROM check_results WHERE item_group IS NOT NULL")
            self._insert_records(tables.CHECK_RESULTS, items)

    def put_labels(self, labels: "Sequence[Decision]") -> None:
        """Replace all labels by people."""
        with self.transaction():
            self._delete_all(tables.LABELS.name)
            self._insert_records(tables.LABELS, labels)

    def put_codes(self, codes: "Sequence[Decision]") -> None:
        """Replace all codes that people gave to trials."""
        with self.transaction():
            self._delete_all(tables.TRIAL_CODES.name)
            self._insert_records(tables.TRIAL_CODES, codes)

    def put_sources(self, sources: Sequence[SourceRow]) -> None:
        """Write sources."""
        self._put(tables.SOURCES, _last_per_key(sources, "path"))

    def put_seen(self, files: Sequence[SeenFile], groups: Mapping[str, Sequence[str]]) -> None:
        """Write records of files, and digest -> keys of their groups."""
        records = [{"digest": digest, "keys": keys} for digest, keys in groups.items()]
        self._put(tables.SEEN, _last_per_key(files, "path"))
        self._put(tables.GROUPS, records)

    def put_metrics(self, definitions: Sequence[Mapping[str, Any]]) -> None:
        """Write the definitions of measures."""
        with self.transaction():
            self._replace(tables.METRICS, definitions)

    def judged(self, judge: str) -> dict[str, str]:
        """Trial or foreign run -> digest of the judge's input."""
        sql = "SELECT trial, input FROM judged WHERE judge = $judge"
        return dict(self._connection.execute(sql, {"judge": judge}).fetchall())

    def put_label_sample(self, uses: "Sequence[SampledUse]") -> None:
        """Replace the uses sampled for labelling, in order."""
        with self.transaction():
            self._delete_all(tables.LABEL_SAMPLE.name)
            self._insert_records(tables.LABEL_SAMPLE, list(enumerate(uses)))

    def put_repeated(
        self, judge: str, names: Sequence[str], answers: Sequence[RepeatedVerdict]
    ) -> None:
        """Replace the repeated answers of a judge's model for some trials or foreign runs."""
        with self.transaction():
            keys = {"trial": list(names), "judge": [judge] * len(names)}
            self._delete_matching(tables.REPEATED_VERDICTS, keys)
            self._insert_records(tables.REPEATED_VERDICTS, answers)

    def verdicts(self, judge: str, names: Sequence[str]) -> list[Verdict]:
        """Return the verdicts of a judge on some trials or foreign runs."""
        answer = self._connection.execute(
            "SELECT * FROM verdicts"
            " WHERE judge = $judge AND trial IN (SELECT unnest($names::VARCHAR[])) ORDER BY event",
            {"judge": judge, "names": list(names)},
        )
        columns = [column[0] for column in answer.description]
        return [Verdict(**dict(zip(columns, row, strict=True))) for row in answer.fetchall()]

    def put_effects(self, names: Sequence[str], effects: Sequence[LocalEffect]) -> None:
        """Replace the effects of calls of some trials or foreign runs."""
        with self.transaction():
            self._delete_matching(tables.EFFECTS, {"trial": list(names)})
            self._insert_records(tables.EFFECTS, effects)

    def put_judge_calls(
        self, judge: str, names: Sequence[str], calls: Sequence[JudgeCalls]
    ) -> None:
        """Replace the model calls for some trials or foreign runs."""
        with self.transaction():
            keys = {"trial": list(names), "judge": [judge] * len(names)}
            self._delete_matching(tables.JUDGE_CALLS, keys)
            self._insert_records(tables.JUDGE_CALLS, calls)

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
        if judge not in self._judged:
            sql = "SELECT DISTINCT trial FROM verdicts WHERE judge = $judge"
            self._judged[judge] = self._column_values(sql, {"judge": judge})
        again = sorted(self._judged[judge].intersection(names))
        with self.transaction():
            if again:
                keys = {"trial": again, "judge": [judge] * len(again)}
                self._delete_matching(tables.VERDICTS, keys)
                self._delete_matching(tables.UNIT_USES, keys)
            self._insert_records(tables.VERDICTS, _last_per_key(verdicts, "event", "judge"))
            self._insert_records(tables.UNIT_USES, uses)
            inputs = [
                {"trial": name, "judge": judge, "input": digest}
                for name, digest in names.items()
                if digest is not None
            ]
            self._put(tables.JUDGED, inputs)
        self._judged[judge].update(names)

    def put_runs(self, batches: Iterable[RunColumns]) -> None:
        """Write runs, in as few transactions as possible. A run replaces its earlier rows."""
        for columns in merge_batches(batches):
            self._put_runs(columns)

    def put_unlogged(self, trials: Sequence[UnloggedTrial]) -> None:
        """Write foreign trials without a log, except those with a run in the database."""
        logged = self._names(tables.TRAJECTORIES, "trajectory")
        alone = [trial for trial in _last_per_key(trials, "trial") if trial.trial not in logged]
        self._put(tables.UNLOGGED_TRIALS, alone)
        self._names(tables.UNLOGGED_TRIALS, "trial").update(trial.trial for trial in alone)

    def forget(self, trajectories: Sequence[str], sources: Sequence[str] = ()) -> None:
        """Remove runs with all their rows, and rows of files that are no longer sources."""
        self._remove([*_tables_about_runs(trajectories), (tables.SOURCES, "path", sources)])

    def forget_trials(self, trials: Sequence[str]) -> None:
        """Remove trials with all their rows."""
        self._remove([*_tables_about_runs(trials), (tables.TRIALS, "trial", trials)])

    def _remove(self, gone: Iterable[tuple[Table, str, Sequence[str]]]) -> None:
        """Delete the rows with one of the names in a column, in one transaction."""
        named = [(table, {column: list(names)}) for table, column, names in gone if names]
        if not named:
            return
        with self.transaction():
            for table, keys in named:
                self._delete_matching(table, keys)
        self._known_runs.clear()

    def _put_runs(self, columns: RunColumns) -> None:
        keys, measured = run_names(columns)
        old = sorted(self._names(tables.TRAJECTORIES, "trajectory").intersection(keys))
        again = sorted(self._names(tables.MEASURES, "trial") & measured)
        logged = sorted(self._names(tables.UNLOGGED_TRIALS, "trial").intersection(keys))
        with self.transaction():
            for table, _ in RUN_TABLES:
                if gone := again if table is tables.MEASURES else old:
                    self._delete_matching(table, {table.key[0]: gone})
                self._insert(table, columns[table.name])
            if logged:
                self._delete_matching(tables.UNLOGGED_TRIALS, {"trial": logged})
        self._known_runs[tables.UNLOGGED_TRIALS.name].difference_update(logged)
        self._known_runs[tables.TRAJECTORIES.name].update(keys)
        self._known_runs[tables.MEASURES.name].update(measured)

    def _column_values(self, sql: str, params: Mapping[str, Any] | None = None) -> set[str]:
        """Return the values of a one-column answer."""
        return {value for (value,) in self._connection.execute(sql, params).fetchall()}

    def _names(self, table: Table, column: str) -> set[str]:
        """Return the runs with rows in a table."""
        if table.name not in self._known_runs:
            sql = f"SELECT DISTINCT {column} FROM {table.name}"  # noqa: S608
            self._known_runs[table.name] = self._column_values(sql)
        return self._known_runs[table.name]

    def _put(self, table: Table, records: Sequence[Any]) -> None:
        if records:
            with self.transaction():
                self._replace(table, records)

    def _replace(self, table: Table, records: Sequence[Any]) -> None:
        if records:
            self._delete_matching(table, table.values(table.key, records))
            self._insert_records(table, records)

    def _insert(self, table: Table, values: Columns) -> None:
        """Append rows; a number out of the range of its column becomes null."""
        if any(values.values()):
            self._execute(f"INSERT INTO {table.name} BY NAME SELECT {self._rows(table)}", values)

    def _insert_records(self, table: Table, records: Sequence[Any]) -> None:
        if records:
            self._insert(table, table.values([*self._column_types(table.name)], records))

    def _delete_matching(self, table: Table, keys: dict[str, list[Any]]) -> None:
        """Delete the rows with one of these combinations in their key columns."""
        gone = ", ".join(f"unnest(${name}) AS {name}" for name in keys)
        match = " AND ".join(f"{table.name}.{name} = gone.{name}" for name in keys)
        self._execute(
            f"DELETE FROM {table.name} USING (SELECT DISTINCT {gone}) AS gone WHERE {match}",  # noqa: S608
            keys,
        )

    def _delete_all(self, name: str) -> None:
        self._connection.execute(f"DELETE FROM {name}")  # noqa: S608

    def _execute(self, sql: str, columns: Columns) -> None:
        """Run a statement on columns of values, one list per parameter."""
        try:
            self._connection.execute(sql, columns)
        except duckdb.InvalidInputException:  # binding failed, before anything was done
            self._connection.execute(sql, without_misfits(columns))

    def _rows(self, table: Table) -> str:
        """Return the columns of a SELECT that turns lists in parameters into rows of a table."""
        return ", ".join(
            f'make_timestamp(TRY_CAST(unnest(${name}) AS BIGINT)) AS "{name}"'
            if kind == "TIMESTAMP"
            else f'TRY_CAST(unnest(${name}) AS {kind}) AS "{name}"'
            for name, kind in self._column_types(table.name).items()
        )

    def _column_types(self, name: str) -> dict[str, str]:
        """Column -> type of a table, in order."""
        if name not in self._types:
            relation = self._connection.table(name)
            kinds = map(str, relation.types)
            self._types[name] = dict(zip(relation.columns, kinds, strict=True))
        return self._types[name]

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


def _tables_about_runs(runs: Sequence[str]) -> Iterator[tuple[Table, str, Sequence[str]]]:
    """Yield (table, column with the name, names) of all rows about runs."""
    for table, _ in RUN_TABLES:
        yield table, table.key[0], runs
    yield tables.UNLOGGED_TRIALS, "trial", runs
    yield tables.CHECK_RESULTS, "trial", runs
    yield tables.VERDICTS, "trial", runs
    yield tables.UNIT_USES, "trial", runs
    yield tables.EFFECTS, "trial", runs
    yield tables.JUDGED, "trial", runs
    yield tables.REPEATED_VERDICTS, "trial", runs
    yield tables.JUDGE_CALLS, "trial", runs
    yield tables.KEPT_RUNS, "trajectory", runs


def _last_per_key(records: Iterable[Any], *key: str) -> list[Any]:
    """Return one record per key, the last one."""
    identity = attrgetter(*key)
    return list({identity(record): record for record in records}.values())
