"""A study's own trials: read one again, or ingest all; and search their inputs for text that an arm must not see."""

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory

from msgspec import Struct
from msgspec.structs import replace

from skilljuror.base.errors import StudyError, TrajectoryError
from skilljuror.base.files import StudyFolder, path_text, read_record, read_rows
from skilljuror.base.results import CheckResult, Generation, LeakSearch, SourceRow
from skilljuror.base.review import Acceptance
from skilljuror.base.review_rows import AcceptedTrials
from skilljuror.base.skill import MappedUnit, class_of
from skilljuror.base.study import StudyPlan, TrialRecord
from skilljuror.base.texts import LEAST, RUN, Fingerprints, run_digest, tokenize, with_packaged
from skilljuror.base.trajectory import SkillManifest, Step, Trajectory
from skilljuror.base.workers import (
    Listener,
    Progress,
    WorkBudgetExceeded,
    map_ordered,
    silent,
    work_budget,
    workers_for,
)
from skilljuror.harness.artifacts import WORK, read_reward
from skilljuror.harness.leaks import study_leaks
from skilljuror.layouts.build.given_skills import (
    given_manifests,
    given_rows,
    units_of_given,
)
from skilljuror.layouts.build.manifests import offered_by, units_of_build
from skilljuror.layouts.build.protected_texts import (
    FOLDERS,
    ProtectedKind,
    ProtectedText,
    fingerprinted_tasks,
    fingerprints_of,
    protected_texts,
)
from skilljuror.logs.base import FoundSource, LogKind
from skilljuror.logs.discovery import discover
from skilljuror.logs.read import parser, read
from skilljuror.store.checks import read_checks
from skilljuror.store.connect import database_to_fill, open_write, resolve_quotes
from skilljuror.store.logs import BATCH_BYTES, NO_RUN
from skilljuror.store.records import NOTHING_FURTHER, IngestSummary, MeasureOptions, as_json
from skilljuror.store.rows import (
    analyse,
    definition_rows,
    part_rows,
    size_of,
    unread_row,
    without_quotes,
)
from skilljuror.store.study_files import put_answers, read_builds, unit_rows
from skilljuror.store.writer import Store, summary_of


class ReadTrial(Struct, frozen=True):
    """A trial read from its folder."""

    record: TrialRecord
    manifest: SkillManifest | None
    """Skills that it offered; None if unknown."""
    units: tuple[MappedUnit, ...]
    """Knowledge map of the offered variant; empty without a Skill."""
    trajectory: Trajectory | None
    """Its log; None without a readable one."""
    sources: tuple[SourceRow, ...]
    """Every file examined, with its status."""


def read_trial_record(folder: StudyFolder, trial: str) -> TrialRecord:
    """Return the record of a finished trial. Raises StudyError if it is missing, belongs to another
    trial, or contradicts its verifier's output."""
    path = folder.trial_record(trial)
    if not path.is_file():
        raise StudyError(f"no finished trial {trial!r} in {str(folder.root)!r}", file=str(path))
    record = read_record(TrialRecord, path)
    if not record.trial == f"{record.task}__{record.condition}__{record.number}" == trial:
        raise StudyError(
            f"{str(path)!r}: the record is of trial {record.trial!r} (task {record.task!r}, condition"
            f" {record.condition!r}, number {record.number}), but its folder is {trial!r}; restore it,"
            " or move the folder away and rerun",
            file=str(path),
            field="trial",
        )
    _refuse_other_reward(record, folder.trial_raw(trial), path)
    return record


def _refuse_other_reward(record: TrialRecord, raw: Path, path: Path) -> None:
    """Raise StudyError if a record's reward differs from raw/verifier. Steps of a multi-step task
    each have a reward; missing or unreadable files contradict nothing."""
    try:
        if (raw / "steps").is_dir():
            return
    except PermissionError:
        return
    verified = read_reward(raw / "verifier")
    if verified.value is None or record.reward == verified.value:
        return
    if record.rewards == verified.rewards and record.reward in {None, *verified.rewards.values()}:
        return  # an invalid reward, or in an adopted trial another of several
    raise StudyError(
        f"{str(path)!r}: reward is {record.reward}, but the verifier's file in"
        f" {str(raw / 'verifier')!r} says {verified.value:g}; restore both, or move the trial's folder"
        " away and rerun",
        file=str(path),
        field="reward",
    )


def read_trial(study: Path, trial: str) -> ReadTrial:
    """Read one finished trial. Raises StudyError if it is missing or its record is rejected."""
    folder = StudyFolder(study)
    record = read_trial_record(folder, trial)
    manifest = offered_by(folder, record)
    units = _units_offered(folder, record)
    trajectory, sources = _read_log(_logs(folder.trial_raw(trial), record), trial)
    return ReadTrial(record, manifest, units, trajectory, sources)


def _units_offered(folder: StudyFolder, record: TrialRecord) -> tuple[MappedUnit, ...]:
    """Knowledge map of the trial's variant; empty without a Skill."""
    if record.variant is None:
        return ()
    offered = folder.offered(record.task, record.variant)
    if offered.parent.parent == folder.given:
        return units_of_given(offered, record.variant)
    return units_of_build(folder.build(record.task))


def log_of(raw: Path, record: TrialRecord) -> tuple[Trajectory | None, list[str]]:
    """Return the log among an attempt's raw artifacts (None without a readable one), and why
    supported logs cannot be read."""
    run, sources = _read_log(_logs(raw, record), record.trial)
    failed = (row for row in sources if row.format and row.status == "error")
    return run, [str(row.reason) for row in failed if row.reason != NO_RUN]


def fault_in_output(raw: Path) -> str | None:
    """Return the provider's fault at the end of an attempt's output, which holds retries that the log of
    some agents omits; None without one."""
    streams = [
        found
        for found in discover([raw])
        if found.format
        and parser(found.format).kind is LogKind.STREAM
        and not found.source.path.is_relative_to(raw / WORK)
    ]
    runs = (_read_first_run(found, "")[0] for found in streams)
    return next((run.fault for run in runs if run and run.fault), None)


def _logs(raw: Path, record: TrialRecord) -> Path:
    whole = record.harness == "harbor"  # its result completes the log's metadata
    return raw if whole else raw / "agent"


def _read_log(logs: Path, trial: str) -> tuple[Trajectory | None, tuple[SourceRow, ...]]:
    """Read the most native readable capture; the rest become rows with their reason."""
    if (problem := _missing(logs)) is not None:
        return None, (SourceRow(path_text(logs), "error", reason=problem),)
    rows: list[SourceRow] = []
    chosen: Trajectory | None = None
    for found in sorted(discover([logs]), key=_precedence):
        path = path_text(found.source.path)
        rows.extend(part_rows(found))
        if found.format is None:
            rows.append(unread_row(found))
        elif chosen is not None:
            rows.append(SourceRow(path, "duplicate", found.format, "a more native log was read"))
        else:
            chosen, row = _read_first_run(found, trial)
            rows.append(row)
    return chosen, tuple(rows)


def _missing(logs: Path) -> str | None:
    """Why the folder of logs is missing, or None."""
    try:
        return None if logs.is_dir() else "the trial has no agent folder"
    except OSError as error:
        return f"cannot be read: {error.strerror}"


def _precedence(found: FoundSource) -> tuple[int, str]:
    """Most native first; unsupported files last."""
    kind = len(LogKind) if found.format is None else parser(found.format).kind
    return kind, str(found.source.path)


def _read_first_run(found: FoundSource, trial: str) -> tuple[Trajectory | None, SourceRow]:
    path, name = path_text(found.source.path), found.format or ""
    try:
        first = next(iter(read(found.source, name)), None)
    except TrajectoryError as error:
        return None, SourceRow(path, "error", name, error.message, found.size)
    if first is None:
        return None, SourceRow(path, "error", name, NO_RUN, found.size)
    return replace(first, trajectory=trial), SourceRow(path, "parsed", name, None, found.size)


def _read_attempts(
    folder: StudyFolder,
) -> tuple[list[tuple[int, TrialRecord]], list[Acceptance], list[SourceRow]]:
    """Return earlier attempts with their numbers, results accepted by people, and damaged records."""
    attempts: list[tuple[int, TrialRecord]] = []
    acceptances: list[Acceptance] = []
    refused = []
    for trial, number in folder.earlier_attempts():
        path = folder.attempt(trial, number) / "trial.json"
        try:
            attempts.append((number, read_record(TrialRecord, path)))
        except StudyError as error:
            refused.append(SourceRow(path_text(path), "error", reason=error.message))
    accepted = AcceptedTrials(folder)
    for trial in folder.finished_trials():
        try:
            acceptances += filter(None, [accepted.of(trial)])
        except StudyError as error:
            path = folder.acceptance(trial)
            refused.append(SourceRow(path_text(path), "error", reason=error.message))
    return attempts, acceptances, refused


class _TrialJob(Struct, frozen=True):
    study: Path
    trial: str
    planned: bool
    options: MeasureOptions


class _TrialRows(Struct, frozen=True):
    trial: str
    record: str | None
    """JSON of the record; None for a trial whose record is rejected: its only `sources` row has the reason."""
    sources: tuple[SourceRow, ...]
    run: str = ""
    """JSON of its rows."""
    logged: bool = False
    """Whether it has a readable log."""
    checks: tuple[CheckResult, ...] = ()


def ingest_trials(
    study: Path,
    *,
    options: MeasureOptions = NOTHING_FURTHER,
    jobs: int = 1,
    progress: Listener = silent,
) -> IngestSummary:
    """Ingest a study's folder; repeating it changes nothing.

    A record that is damaged, or whose trial is not in the plan, is rejected with a row in
    `sources`. `options` adds measures to those in the study file. Raises UsageError for an invalid
    metric.
    """
    folder = StudyFolder.existing(study)
    plan = read_record(StudyPlan, folder.plan_file)
    metrics = tuple(dict.fromkeys([*plan.config.metrics, *options.metrics]))
    definitions = definition_rows(metrics)
    own = replace(options, metrics=metrics, prices=with_packaged(plan.config.prices))
    options = resolve_quotes(study, own)
    planned = {trial.trial for trial in plan.trials}
    work = [
        _TrialJob(study, trial, trial in planned, options) for trial in folder.finished_trials()
    ]
    names = [task.name for task in plan.tasks] + [one.name for one in plan.excluded]
    with database_to_fill(folder.database) as database, open_write(database) as store:
        remade = database != folder.database and folder.database.exists()
        trials = store.names("SELECT trial FROM trials UNION SELECT trajectory FROM trajectories")
        store.forget_trials(sorted(trials - {job.trial for job in work}))
        attempts, acceptances, refused = _read_attempts(folder)
        put_answers(store, folder, plan)
        store.put_attempts(attempts, acceptances)
        store.put("sources", refused)
        store.put("metrics", definitions)
        store.put_builds(read_builds(folder.builds, names), given_manifests(folder, names))
        store.put("given_skills", given_rows(folder, plan))
        store.put("generations", read_rows(Generation, folder.generation))
        store.put("skill_leaks", study_leaks(folder))
        store.put_units(*unit_rows(folder, names))
        paths, done, ended, size = [row.path for row in refused], 0, 0, 0
        batch: list[_TrialRows] = []
        for job, rows in map_ordered(_analyse_trial, work, workers_for(work, jobs)):
            batch.append(rows)
            done, ended, size = done + 1, ended + (rows.record is not None), size + len(rows.run)
            if size >= BATCH_BYTES or done == len(work):
                paths += _store_trials(store, batch)
                batch, size = [], 0
                progress(Progress("ingest", done, len(work), job.trial))
        store.forget((), sorted(store.names("SELECT path FROM sources").difference(paths)))
        summary = summary_of(store, paths, ended)
    return replace(summary, remade=remade)


def contaminations_of(study: Path, record: TrialRecord) -> list[tuple[str, str]]:
    """Return (flag, detail) of a finished trial alone, as ingest finds them."""
    folder, names = StudyFolder(study), [record.task]
    with TemporaryDirectory() as place:
        database = Path(place) / "study.duckdb"
        with open_write(database) as store:
            store.put_plan(read_record(StudyPlan, folder.plan_file))
            store.put_builds(read_builds(folder.builds, names), given_manifests(folder, names))
            rows = _analyse_trial(_TrialJob(study, record.trial, True, NOTHING_FURTHER))
            _store_trials(store, [rows])
            return store.rows("SELECT flag, detail FROM contaminations ORDER BY ALL")


def _store_trials(store: Store, rows: Sequence[_TrialRows]) -> list[str]:
    """Store trials, and remove rejected ones; return the paths of their files."""
    sources = [source for row in rows for source in row.sources]
    with store.transaction():
        store.forget_trials([row.trial for row in rows if row.record is None])
        store.forget([row.trial for row in rows if not row.logged])
        store.put("trials", [row.record for row in rows if row.record is not None])
        store.put_checks([row.trial for row in rows], [one for row in rows for one in row.checks])
        store.put("sources", sources)
        store.put("runs", [row.run for row in rows if row.run])
    return [source.path for source in sources]


def _analyse_trial(job: _TrialJob) -> _TrialRows:
    try:
        trial = _planned_trial(job)
    except StudyError as error:
        path = path_text(StudyFolder(job.study).trial_record(job.trial))
        refused = SourceRow(path, "error", reason=error.message)
        return _TrialRows(job.trial, None, (refused,))
    run, sources = trial.trajectory, trial.sources
    try:
        with work_budget(size_of(run.files) if run else 0):
            found = analyse(
                job.trial, run, trial.record, trial.manifest, trial.units, options=job.options
            )
    except WorkBudgetExceeded as error:
        found = analyse(job.trial, None, trial.record, trial.manifest, options=job.options)
        sources = tuple([
            replace(row, status="error", reason=error.message) if row.status == "parsed" else row
            for row in sources
        ])
    if run is not None:
        leaks = search_leaks(job.study, trial.record.task, trial.record.variant, run)
        found = replace(found, leaks=leaks)
    checks, reports = read_checks(StudyFolder(job.study).trial_raw(job.trial), job.trial)
    if not job.options.quotes:
        found = without_quotes(found)
        checks = tuple([replace(check, said=None) for check in checks])
    logged = found.trajectory is not None
    return _TrialRows(
        job.trial, as_json(trial.record), (*sources, *reports), as_json(found), logged, checks
    )


def _planned_trial(job: _TrialJob) -> ReadTrial:
    if not job.planned:
        raise StudyError(f"trial {job.trial!r} is not in the plan; move its folder away")
    return read_trial(job.study, job.trial)


_EXCERPT = 30
"""Words of an excerpt."""


class _Source(Struct, frozen=True):
    """A file to search for."""

    kind: ProtectedKind
    path: str
    prints: Fingerprints
    null: bool
    """Whether it belongs to another task, to estimate chance matches."""

    def is_named(self, text: str) -> bool:
        """Whether a text names the file, or its folder in the task."""
        folder = FOLDERS.get(self.kind)
        return folder is None or any(
            name in text for name in (f"/{folder}", f"{folder}/", self.path.rpartition("/")[2])
        )

    @property
    def proves_itself(self) -> bool:
        """Whether showing half of it rules out that the agent wrote it as an answer."""
        return self.kind == "verifier" and class_of(self.path) == "code"


class _Arm(Struct, frozen=True):
    """Everything searched for in the trials of one task and variant."""

    sources: tuple[_Source, ...]
    owners: dict[int, tuple[int, ...]]
    """Fingerprint -> numbers of the sources that contain it."""
    prints: Fingerprints
    """Fingerprints of all sources."""


_Place = tuple[str, int, str]
"""Agent, step and excerpt of a match."""


def search_leaks(
    study: Path, task: str, variant: str | None, run: Trajectory
) -> tuple[LeakSearch, ...]:
    """Search a trial; return one row per kind of text, or none without protected texts on record.

    What the agent may have written itself before a text was shown is no match.
    """
    arm = _arm(study, task, variant)
    every: list[dict[int, _Place]] = [{} for _ in arm.sources]
    named: list[dict[int, _Place]] = [{} for _ in arm.sources]
    written: set[int] = set()
    done = 0
    for agent, step, text, asked, before in _shown(run) if arm.sources else ():
        words = tokenize(text)
        hits = list(arm.prints.places(words))
        if hits and before > done:
            for own in chain.from_iterable(map(_texts_of, run.steps[done:before])):
                mine = tokenize(own)
                written.update(run_digest(mine[at : at + RUN]) for at in range(len(mine) - RUN + 1))
            done = before
        naming: dict[int, bool] = {}
        shown = ((at, digest) for at, digest in hits if digest not in written)
        for at, digest, number in (
            (*one, number) for one in shown for number in arm.owners[one[1]]
        ):
            place, source = (agent, step, " ".join(words[at : at + _EXCERPT])), arm.sources[number]
            every[number].setdefault(digest, place)
            if number not in naming:
                naming[number] = source.is_named(asked) or source.is_named(text)
            if naming[number]:
                named[number].setdefault(digest, place)
    counted = [
        (source, found if source.proves_itself and 2 * len(found) >= len(source.prints.digests) else by_name)
        for source, found, by_name in zip(arm.sources, every, named, strict=True)
    ]  # fmt: skip
    kinds = dict.fromkeys(source.kind for source in arm.sources if not source.null)
    return tuple([
        _row(run.trajectory, kind, [row for row in counted if row[0].kind == kind])
        for kind in kinds
    ])


def _row(
    trajectory: str, kind: ProtectedKind, counted: Sequence[tuple[_Source, dict[int, _Place]]]
) -> LeakSearch:
    searched: tuple[set[int], set[int]] = set(), set()  # of the task, and of another one
    found: tuple[set[int], set[int]] = set(), set()
    for source, matches in counted:
        searched[source.null].update(source.prints.digests)
        found[source.null].update(matches)
    mine = [(source.path, matches) for source, matches in counted if matches and not source.null]
    firsts = [next(iter(matches.values())) for _, matches in mine]
    agent, step, excerpt = min(firsts, key=lambda place: place[1], default=(None, None, ""))
    return LeakSearch(
        trajectory=trajectory,
        kind=kind,
        searched=len(searched[0]),
        found=len(found[0]),
        contaminated=len(found[0]) >= LEAST,
        sources=tuple([path for path, _ in sorted(mine, key=lambda one: -len(one[1]))]),
        agent=agent,
        step=step,
        excerpt=excerpt,
        null_searched=len(searched[1]) or None,
        null_found=len(found[1]) if searched[1] else None,
    )


def _texts_of(step: Step) -> Iterator[str]:
    yield step.text
    yield step.reasoning
    for call in step.calls:
        yield from filter(None, (call.command, call.written))
        yield from (str(value) for value in call.arguments.values())


def _shown(run: Trajectory) -> Iterator[tuple[str, int, str, str, int]]:
    """(agent, step, text, request, steps before it) of every text that reached an agent."""
    for message in run.messages:
        of_agent = message.kind == "prompt" and message.agent != "main"
        if message.kind != "summary" and not of_agent and not message.inherited:
            yield message.agent, message.step, message.text, message.path or "", 0
    for number, step in enumerate(run.steps, 1):
        for call in step.calls:
            if call.result is not None:
                asked = " ".join(map(str, (call.command, call.path, call.workdir, call.arguments)))
                yield step.agent, step.index, call.result.text, asked, number
    for message in run.messages:  # a history that a sub-agent was given, with words of its parent
        if message.inherited:
            yield message.agent, message.step, message.text, "", len(run.steps)


@lru_cache(maxsize=8)
def _arm(study: Path, task: str, variant: str | None) -> _Arm:
    own = protected_texts(fingerprints_of(study, task))
    sources = list(_wanted(own, variant, null=False))
    known = Fingerprints.union(row.prints for row in own).digests
    missing = {source.kind for source in sources}
    sources += _null(study, task, variant, known, missing) if sources else ()
    owners: dict[int, tuple[int, ...]] = {}
    for number, source in enumerate(sources):
        one = (number,)
        for digest in source.prints.digests:
            owners[digest] = owners[digest] + one if digest in owners else one
    return _Arm(tuple(sources), owners, Fingerprints.union(one.prints for one in sources))


def _wanted(rows: Sequence[ProtectedText], variant: str | None, *, null: bool) -> Iterator[_Source]:
    """Sources that no trial of an arm should show."""
    lacking = [row for row in rows if row.lacked_by and row.lacked_by == variant]
    mine = [
        row
        for row in rows
        if variant and row.kind in {"skill", "layout"} and row.variant in {None, variant}
    ]
    offered = Fingerprints.union(
        row.prints for row in mine if not row.lacked_by
    ).digests.difference(*(row.prints.digests for row in lacking))
    for row in rows:
        if _is_hidden(row, variant):
            yield _Source(row.kind, row.source, row.prints.without(offered), null)


def _is_hidden(row: ProtectedText, variant: str | None) -> bool:
    if row.kind == "skill":
        return row.lacked_by == variant
    return row.kind != "layout" or variant not in {None, row.variant}


def _null(
    study: Path,
    task: str,
    variant: str | None,
    known: frozenset[int],
    missing: set[ProtectedKind],
) -> Iterator[_Source]:
    """For each missing kind, sources of the next task that mostly differ from this task's."""
    names = fingerprinted_tasks(study)
    at = names.index(task)
    for name in (*names[at + 1 :], *names[:at]):
        rows = list(_wanted(protected_texts(fingerprints_of(study, name)), variant, null=True))
        for kind in sorted(missing):
            theirs = Fingerprints.union(row.prints for row in rows if row.kind == kind).digests
            if 2 * len(theirs - known) > len(theirs):
                missing.remove(kind)
                yield from _without(rows, kind, known)
        if not missing:
            return


def _without(
    rows: Iterable[_Source], kind: ProtectedKind, known: frozenset[int]
) -> Iterator[_Source]:
    for row in rows:
        if row.kind == kind:
            yield _Source(kind, row.path, row.prints.without(known), row.null)
