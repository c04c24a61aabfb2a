"""Commands that read and judge logs: events, ingest, judge."""

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from typer import Argument, Option

from skilljuror.base.errors import NeedsDecision, SkilljurorError, UsageError
from skilljuror.cli.main import json_text
from skilljuror.cli.output import (
    Answer,
    ApiBase,
    Block,
    Budget,
    Formats,
    Jobs,
    Logs,
    Study,
    Table,
    Threads,
    command_line,
    labelled,
    legend_blocks,
    progress,
    records,
    share_text,
    to_plain,
    wants_json,
)

EVENT_FIELDS = (
    "trajectory", "source", "file", "line", "call_id", "agent", "step", "skill", "resource",
    "class", "kind", "via", "ok", "content_exposed", "lines", "witness", "phantom", "bundled",
    "note",
)  # fmt: skip
"""Fields of a printed event; `line` counts in `file`, or in `source` (the raw log) without one."""


def events(
    paths: Logs,
    bundle: Annotated[
        Path | None,
        Option("--bundle", metavar="DIR", help="Folder of the offered Skills, if known."),
    ] = None,
    formats: Formats = None,
) -> None:
    """List which Skill resources agents accessed, as JSON lines."""
    from skilljuror.layouts.build.manifests import offered_manifest
    from skilljuror.store.ingest.logs import events_of

    manifest = offered_manifest(bundle, None, None) if bundle else None
    failed = False
    for run in events_of(paths, manifest, formats or ()):
        for event in run.events:
            known = {"source": run.source, "class": event.resource_class}
            fields = (
                (name, known[name] if name in known else getattr(event, name))
                for name in EVENT_FIELDS
            )
            print(json_text(dict(fields)))
        if run.problem is not None:
            failed = True
            _print_problem(run.source, run.problem)
        sys.stdout.flush()
    if failed:
        raise typer.Exit(1)


def _print_problem(source: str, problem: str) -> None:
    if wants_json():
        error = {"kind": "TrajectoryError", "message": problem, "file": source, "field": None}
        print(json_text({"error": {**error, "exit_code": 1}}))
    else:
        message = problem if source in problem else f"{source!r}: {problem}"
        print(f"skilljuror: {' '.join(message.split())}", file=sys.stderr)


def ingest(
    study: Annotated[Path, Option("--study", metavar="DIR", help="Study folder.")],
    paths: Annotated[
        list[Path] | None,
        Argument(metavar="PATH", help="Log files or folders; default: the study's trials."),
    ] = None,
    since: Annotated[
        str | None,
        Option("--since", metavar="WHEN", help="Only files changed since a date, or 7d."),
    ] = None,
    formats: Formats = None,
    yes: Annotated[
        bool, Option("--yes", help="Read agents' usual folders without asking.")
    ] = False,
    count_tokens: Annotated[
        bool, Option("--count-tokens", help="Count the tokens of every step exactly (slow).")
    ] = False,
    metrics: Annotated[
        list[str] | None,
        Option(
            "--metric", metavar="NAME", help="Extra metric, package.module:attribute; repeatable."
        ),
    ] = None,
    again: Annotated[bool, Option("--again", help="Read unchanged files too.")] = False,
    verify: Annotated[
        bool, Option("--verify", help="Compare files by content, not by size and time.")
    ] = False,
    prune: Annotated[
        bool, Option("--prune", help="Remove runs whose files are gone or shorter.")
    ] = False,
    strict: Annotated[
        bool, Option("--strict", help="Exit 1 if any log could not be read.")
    ] = False,
    no_quotes: Annotated[
        bool, Option("--no-quotes", help="Store no quotes of logs from now on.")
    ] = False,
    projects: Annotated[
        bool, Option("--projects", help="Store the name of each run's folder and home.")
    ] = False,
    jobs: Jobs = 2,
) -> Answer:
    """Read a study's trials, or any agent logs, into a database.

    A log in a folder that cannot be read is listed and skipped.
    """
    from skilljuror.base.files import StudyFolder
    from skilljuror.store.ingest.analysis import MeasureOptions

    options = MeasureOptions(
        count_tokens, tuple(metrics or ()), quotes=not no_quotes, projects=projects
    )
    moment = _timestamp(since)
    own = not paths and StudyFolder(study).planned
    of_logs = {
        "since": since, "format": formats, "again": again, "verify": verify, "prune": prune,
        "projects": projects,
    }  # fmt: skip
    for option, given in of_logs.items():
        if own and given:
            problem = f"--{option} applies to logs only; a study's own trials are always all read"
            raise UsageError(problem, field=option)
    chosen = [] if own else paths or _usual_folders(yes)
    with progress() as listener:
        if own:
            from skilljuror.store.ingest.trials import ingest_trials

            summary = ingest_trials(study, options=options, jobs=jobs, progress=listener)
        else:
            from skilljuror.logs.discovery.find_logs import LogFilter
            from skilljuror.store.ingest.changes import ReadPolicy
            from skilljuror.store.ingest.ingest import ingest_logs

            summary = ingest_logs(
                study, chosen, wanted=LogFilter(moment, formats or ()), options=options,
                policy=ReadPolicy(again, verify, prune), jobs=jobs, progress=listener,
            )  # fmt: skip
    named = {str(path.resolve()) for path in chosen if path.is_file()}
    unread = any(path in named for path, _ in summary.failures)
    failed = summary.errors and (own or strict or unread or not summary.trajectories)
    return Answer(summary, _ingest_blocks(summary, study, prune), int(bool(failed)))


def _ingest_blocks(summary: Any, study: Path, prune: bool) -> Iterator[Block]:
    from skilljuror.base.results import unknown_tools_note

    if not summary.trials:
        fate = "pruned" if prune else "their runs are kept without --prune"
        gone = f"; {summary.gone} missing, {fate}" if summary.gone else ""
        yield f"{summary.new} files new, {summary.changed} changed, {summary.unchanged} unchanged{gone}"
    yield (
        f"{summary.parsed} files read, {summary.duplicates} duplicates,"
        f" {summary.skipped} skipped, {summary.errors} errors"
    )
    yield (
        f"{summary.trajectories} trajectories, {summary.steps} steps,"
        f" {summary.skills} skills touched, {summary.events} resource events"
    )
    if summary.unknown_tools:
        listing = command_line("query", study, "unknown_tools")
        yield f"{unknown_tools_note(summary.unknown_tools)} ({listing})"
    if summary.kept:
        yield (
            f"{summary.kept} runs are kept although their files are shorter or missing (table kept_runs);"
            " use --prune to update them"
        )
    if summary.unlogged:
        listing = command_line("query", study, "observed_trials")
        yield f"trials with a result but no log: {summary.unlogged} ({listing})"
    if summary.unread:
        yield Table(("not read, and why", "files"), summary.unread)
    yield from labelled("  error", (f"{source}: {reason}" for source, reason in summary.failures))
    yield f"database: {study / 'study.duckdb'}"
    if summary.remade:
        yield (
            "it had another version and was rebuilt from all sources; the old one is study.duckdb.old."
            f" Verdicts are not copied; judge again: {command_line('judge', study)}"
        )
    if not summary.trajectories:
        listing = command_line("query", study, "sources")
        yield f"no agent run found; status of each file: {listing}"
        return
    question = "outcomes" if summary.trials else "skills_opened"
    yield f"next: {command_line('judge', study)}   or: {command_line('query', study, question)}"


def _usual_folders(yes: bool) -> list[Path]:
    from skilljuror.store.ingest.ingest import usual_folders

    folders: list[Path] = usual_folders()
    if not folders:
        raise UsageError(
            "no log path given, and no usual log folder of an agent exists;"
            " use: skilljuror ingest PATH --study DIR"
        )
    listing = ", ".join(map(str, folders))
    if yes:
        return folders
    if wants_json() or not sys.stdin.isatty():
        raise NeedsDecision(f"found {listing}; name the folders to read, or use --yes for all")
    print(f"found {listing}")
    if not typer.confirm("Read them into this study? They stay on this machine."):
        raise NeedsDecision("nothing was read")
    return folders


def _timestamp(since: str | None) -> float | None:
    from skilljuror.base.files import parse_time

    if since is None:
        return None
    try:
        return parse_time(since).timestamp()
    except ValueError as error:
        raise UsageError(f"--since {error}", field="since") from error


def judge(
    study: Study,
    files: Annotated[
        list[Path] | None,
        Argument(metavar="[FILE]...", help="With --rubric: rubric files; default: the tasks' own."),
    ] = None,
    rubric: Annotated[bool, Option("--rubric", help="Judge the work by rubrics instead.")] = False,
    tasks: Annotated[
        Path | None,
        Option("--tasks", metavar="STUDY.yaml", help="With --rubric: study file of the run."),
    ] = None,
    name: Annotated[str, Option("--judge", help="Judge, or package.module:attribute.")] = "tracing",
    again: Annotated[bool, Option("--again", help="Judge unchanged trials again.")] = False,
    model: Annotated[
        str | None, Option("--model", help="Model for undecided events; it is sent log texts.")
    ] = None,
    api_base: ApiBase = None,
    budget_usd: Budget = None,
    threads: Threads = 16,
    check_yes: Annotated[
        float,
        Option("--check-yes", min=0, max=1, help="Share of yes verdicts that the model checks."),
    ] = 0.1,
    repeat: Annotated[
        int, Option("--repeat", min=1, help="Answers per question; the most frequent counts.")
    ] = 1,
    probe: Annotated[
        str,
        Option(
            "--probe",
            metavar="order,length",
            help="Stability tests: reordered or padded questions.",
        ),
    ] = "",
    panel: Annotated[
        str, Option("--panel", metavar="MODEL,…", help="More models, each judging on its own.")
    ] = "",
    jobs: Jobs = 2,
) -> Answer:
    """Label whether each opened resource led to visible work; or grade the work by rubrics.

    A rubric's items are decided by code, then by --model, then by people (`review`).
    """
    from skilljuror.judge.judging.judge_study import judge_study

    if model is None and (api_base or budget_usd is not None or repeat > 1 or probe or panel):
        raise UsageError(
            "--api-base, --budget-usd, --repeat, --probe and --panel require --model",
            field="model",
        )
    if rubric:
        if again or name != "tracing" or repeat > 1 or probe or panel:
            raise UsageError(
                "--judge, --again, --repeat, --probe and --panel do not apply to --rubric; leave them out",
                field="rubric",
            )
        return _judge_rubrics(study, files or [], tasks, (model, api_base, budget_usd), threads)
    if files or tasks:
        raise UsageError("FILE and --tasks require --rubric", field="rubric")
    if model is None:
        with progress() as listener:
            summary = judge_study(study, name, again=again, jobs=jobs, progress=listener)
        return Answer(summary, _judge_blocks(study, summary, []), int(bool(summary.unread)))
    from skilljuror.base.llm import ModelChoice, SpendingCap
    from skilljuror.judge.judging.by_model import ModelOptions

    options = ModelOptions(
        ModelChoice(model, api_base), check_yes,
        None if budget_usd is None else SpendingCap(budget_usd), threads, repeat,
        tuple(filter(None, probe.split(","))),
    )  # fmt: skip
    others = tuple(filter(None, panel.split(",")))
    cascades, stopped = _judge_by_models(study, options, name, others, again, jobs)
    summary = cascades[0].judged
    remarks = [f"skilljuror: {one.model}: {one.problem}" for one in cascades if one.problem]
    return Answer(
        {**to_plain(cascades[0]), "panel": cascades[1:]},
        _judge_blocks(study, summary, cascades),
        int(bool(summary.unread or remarks)),
        remarks,
        stopped,
    )


def _judge_rubrics(
    study: Path,
    files: list[Path],
    tasks: Path | None,
    asked: tuple[str | None, str | None, float | None],
    threads: int,
) -> Answer:
    from skilljuror.judge.judging.task_rubrics import judge_rubrics
    from skilljuror.layouts.build.rubric_audit import client_for

    model, api_base, budget_usd = asked
    client = client_for(study, model, api_base, budget_usd) if model else None
    with progress() as listener:
        summary = judge_rubrics(study, tasks, files, client, threads, listener)
    unjudged = sum(rubric.unjudged for rubric in summary.rubrics)
    return Answer(summary, _rubric_blocks(study, summary, unjudged), 3 if unjudged else 0)


def _rubric_blocks(study: Path, summary: Any, unjudged: int) -> Iterator[Block]:
    rows = [
        {**to_plain(rubric), "points": " or ".join(f"{points:g}" for points in rubric.points)}
        for rubric in summary.rubrics
    ]
    yield records(rows, "rubric, trials, items, points, code, model, people, unjudged")
    if summary.spent_usd is not None:
        yield f"cost: ${summary.spent_usd:.4f}"
    yield from labelled("  incomplete", (f"{name}: {reason}" for name, reason in summary.unread))
    if unjudged:
        yield f"unjudged items need a model (--model) or a person: {command_line('review', study)}"
    ingested = (study / "study.duckdb").is_file()
    step = ("query", study, "rubric_scores") if ingested else ("ingest", "--study", study)
    yield f"next: {command_line(*step)}"


def _judge_by_models(
    study: Path, options: Any, judge: str, panel: tuple[str, ...], again: bool, jobs: int
) -> tuple[list[Any], SkilljurorError | None]:
    """The cascades of the model and of each panel model, under one budget; the error that stopped the
    panel, or None."""
    from msgspec import structs

    from skilljuror.judge.judging.by_model import judge_with_model

    with progress() as listener:
        main = options.choice.model
        cascades = [
            judge_with_model(study, options, judge, again=again, jobs=jobs, progress=listener)
        ]
        for other in dict.fromkeys(name for name in panel if name != main):
            choice = structs.replace(options.choice, model=other)
            alone = structs.replace(options, choice=choice, repeat=1, probes=())
            try:
                cascades.append(
                    judge_with_model(study, alone, judge, again=again, jobs=jobs, progress=listener)
                )
            except SkilljurorError as error:
                return cascades, error
    return cascades, None


def _judge_blocks(study: Path, summary: Any, cascades: Sequence[Any]) -> Iterator[Block]:
    yield f"{summary.events} events of {summary.trajectories} trajectories by {summary.judge}"
    yield _rates(summary)
    for cascade in cascades[:1]:
        yield from _cascade_lines(cascade)
    for row in cascades[0].stability if cascades else ():
        flips = f"{share_text(row['changed'], row['events'])} of {row['events']} events flip"
        bits = f"; mean entropy {row['entropy']:.2f} bits" if row["events"] else ""
        unparsed = f"; {row['unparsed']} unusable answers" if row["unparsed"] else ""
        yield f"repeated ({row['probe']}): {flips}{bits}{unparsed}"
    for cascade in cascades[1:]:
        yield f"panel, {cascade.model}: {_rates(cascade.judged)}"
        if cascade.shares:
            yield f"  {_answers(cascade.shares)}; {_cost(cascade)}"
    yield from legend_blocks(["ERU rate", "open", "navigation"])
    yield from labelled("  not judged", (f"{name}: {reason}" for name, reason in summary.unread))
    yield f"next: {command_line('report', study)}"


def _rates(summary: Any) -> str:
    def percent(low: float | None, high: float | None) -> str:
        """One number, or its two ends where uses are open."""
        if low is None or high is None:
            return "–"
        ends = [f"{100 * end:.1f} %" for end in (low, high)]
        return ends[0] if low == high else f"between {ends[0]} and {ends[1]}"

    rate = percent(summary.rate_low, summary.rate_high)
    without = percent(summary.without_navigation_low, summary.without_navigation_high)
    return (
        f"yes {summary.yes}, no {summary.no}, unknown {summary.unknown} ({summary.open} of them open);"
        f" ERU rate {rate}, without navigation {without}"
    )


def _cascade_lines(cascade: Any) -> Iterator[str]:
    """The shares decided by code and by the model, the use of its answers and their cost."""
    row = cascade.shares
    if not row:
        return
    free = cascade.first.judge
    yield (
        f"decided by {free}: {share_text(row['decided_free'], row['events'])}; by the model:"
        f" {share_text(row['decided_by_model'], row['events'])}; unknown:"
        f" {share_text(row['unknown'], row['events'])}"
    )
    yield _answers(row)
    if row["rechecked"]:
        undecided = row["rechecked"] - row["rechecked_yes"] - row["rechecked_no"]
        yield (
            f"{row['rechecked']} yes of {free} checked by the model: yes {row['rechecked_yes']},"
            f" no {row['rechecked_no']}, unknown {undecided}"
        )
    saved = row["usd_saved_estimate"]
    yield _cost(cascade) + ("" if saved is None else f"; estimated saving by {free}: ${saved:.4f}")


def _answers(row: dict[str, Any]) -> str:
    return (
        f"{row['asked']} events asked in {row['calls']} calls: {row['insufficient_context']} undecided by"
        f" the model, {row['unverified_quote']} with a quote that is not in the log,"
        f" {row['unparsed']} without a usable answer"
    )


def _cost(cascade: Any) -> str:
    spent, paid = cascade.shares["usd_spent"], cascade.paid_usd
    if spent is None:
        return "cost: unknown (no price or token count for this model)"
    return f"cost: ${spent:.4f}" + ("" if paid is None else f" (${paid:.4f} of it now)")
