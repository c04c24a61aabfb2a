"""Commands that make a study's data: demo, adopt, ingest, judge."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from skilljuror.cli.options import Debug, Formats, Jobs, Json, Study
from skilljuror.cli.output import command_line, emit, print_legend, progress, table, to_plain
from skilljuror.errors import NeedsDecision, SkilljurorError, UsageError


def demo(
    out: Annotated[Path, typer.Option("--out", help="Folder of the study.")] = Path("out/demo"),
    jobs: Jobs = 2,
    json: Json = False,
    debug: Debug = False,
) -> None:
    """Run a whole study offline on the packaged example: build, gate, run, ingest, judge, report."""
    from skilljuror.pipeline.demo import run_demo

    with progress(json) as listener:
        summary = run_demo(out, jobs, listener)

    def human() -> None:
        table(summary.columns, summary.headline, title=summary.title)
        print(f"pp = percentage points: {summary.meaning}")
        print("A scripted policy ran, no language model: figures say nothing about real agents.")
        for note in summary.notes:
            print(f"note: {note}")
        print(f"{summary.trials} trials in {summary.seconds:.1f} s")
        print(f"report: {summary.report}")
        print(f"next:   {command_line('show', out, summary.example_trial)}")
        real = command_line("run", summary.real_study, "--out", "out/codex")
        print(f"on a real agent, with OPENAI_API_KEY set: {real}")

    emit(summary, json, human)


def adopt(
    jobs: Annotated[list[Path], typer.Argument(metavar="JOBS...", help="Folders of Harbor jobs.")],
    map_file: Annotated[
        Path, typer.Option("--map", metavar="MAP.yaml", help="Which trials belong to which arm.")
    ],
    out: Annotated[Path, typer.Option("--out", help="Folder of the new study.")],
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would be adopted; write nothing.")
    ] = False,
    json: Json = False,
    debug: Debug = False,
) -> None:
    """Make a study of finished Harbor jobs: trials that others ran, matched to tasks and arms."""
    from skilljuror.pipeline.adoption.adopt import adopt as adopt_jobs

    adoption = adopt_jobs(jobs, map_file, out, dry_run=dry_run)

    def human() -> None:
        for part in (adoption.arms, adoption.outcomes, adoption.left_out):
            rows = [to_plain(row) for row in part]
            if rows:
                table(list(rows[0]), [list(row.values()) for row in rows])
        for note in adoption.notes:
            print(f"note: {note}")
        if adoption.written:
            print(f"next: {command_line('ingest', '--study', out)}")

    emit(adoption, json, human)


def ingest(
    study: Annotated[Path, typer.Option("--study", metavar="DIR", help="Folder of the study.")],
    paths: Annotated[
        list[Path] | None, typer.Argument(metavar="[PATH]...", help="Logs: files or folders.")
    ] = None,
    since: Annotated[
        str | None,
        typer.Option(
            "--since", metavar="WHEN", help="Only files changed since: a date, or 7d ago."
        ),
    ] = None,
    formats: Formats = None,
    yes: Annotated[bool, typer.Option("--yes", help="Read the usual folders unasked.")] = False,
    count_tokens: Annotated[
        bool, typer.Option("--count-tokens", help="Count the tokens of every step exactly: slow.")
    ] = False,
    metrics: Annotated[
        list[str] | None,
        typer.Option(
            "--metric",
            metavar="NAME",
            help="Measure by this as well: a metric of yours, package.module:attribute; repeatable.",
        ),
    ] = None,
    again: Annotated[bool, typer.Option("--again", help="Read unchanged files as well.")] = False,
    verify: Annotated[
        bool,
        typer.Option(
            "--verify", help="Compare files by their content, not by size and time alone."
        ),
    ] = False,
    prune: Annotated[
        bool,
        typer.Option(
            "--prune",
            help="Forget files that are gone, and runs that shorter files no longer give.",
        ),
    ] = False,
    no_quotes: Annotated[
        bool,
        typer.Option(
            "--no-quotes",
            help="Keep no previews and quotes of logs, from now on: query, show, judge.",
        ),
    ] = False,
    jobs: Jobs = 2,
    json: Json = False,
    debug: Debug = False,
) -> None:
    """Parse trajectories into the study's DuckDB: its own trials, or anybody's agent logs."""
    from skilljuror.files import StudyFolder
    from skilljuror.pipeline.ingestion.analysis import MeasureOptions

    options = MeasureOptions(count_tokens, tuple(metrics or ()), quotes=not no_quotes)
    moment = _timestamp(since)
    own = not paths and StudyFolder(study).planned
    of_logs = {
        "since": since, "format": formats, "again": again, "verify": verify, "prune": prune,
    }  # fmt: skip
    for option, given in of_logs.items():
        if own and given:
            problem = f"--{option} is for logs; of a study's own trials all are read"
            raise UsageError(problem, field=option)
    chosen = [] if own else paths or _usual_folders(yes, ask=not json)
    with progress(json) as listener:
        if own:
            from skilljuror.pipeline.ingestion.trials import ingest_trials

            summary = ingest_trials(study, options=options, jobs=jobs, progress=listener)
        else:
            from skilljuror.parsers.discovery.find_logs import LogFilter
            from skilljuror.pipeline.ingestion.changes import ReadPolicy
            from skilljuror.pipeline.ingestion.ingest import ingest_logs

            summary = ingest_logs(
                study, chosen, wanted=LogFilter(moment, formats or ()), options=options,
                policy=ReadPolicy(again, verify, prune), jobs=jobs, progress=listener,
            )  # fmt: skip
    emit(summary, json, lambda: _print_ingest(summary, study))
    if summary.errors:
        raise typer.Exit(1)


def _print_ingest(summary: Any, study: Path) -> None:
    if not summary.trials:
        gone = f"; {summary.gone} gone, whose runs stay until --prune" if summary.gone else ""
        print(
            f"{summary.new} files new, {summary.changed} changed, {summary.unchanged} unchanged{gone}"
        )
    print(
        f"{summary.parsed} files read, {summary.duplicates} duplicates,"
        f" {summary.skipped} skipped, {summary.errors} errors"
    )
    print(
        f"{summary.trajectories} trajectories, {summary.steps} steps,"
        f" {summary.skills} skills touched, {summary.events} resource events"
    )
    if summary.kept:
        print(
            f"{summary.kept} runs are kept as they were, though files of theirs became shorter or are"
            " gone (table kept_runs); --prune takes what the files hold now"
        )
    if summary.unlogged:
        print(
            f"trials whose result stands without a log: {summary.unlogged}"
            f" ({command_line('query', study, 'observed_trials')})"
        )
    if summary.unread:
        table(("what was not read, and why", "files"), summary.unread)
    for source, reason in summary.failures:
        print(f"  error: {source}: {reason}")
    print(f"database: {study / 'study.duckdb'}")
    if summary.remade:
        print(
            "it was of another version and was made again from all its sources; the old one is kept"
            f" as study.duckdb.old. Verdicts are not in the new one: {command_line('judge', study)}"
        )
    if not summary.trajectories:
        listing = command_line("query", study, "sources")
        print(f"no run of an agent was found; what became of each file: {listing}")
        return
    question = "outcomes" if summary.trials else "skills_opened"
    print(f"next: {command_line('judge', study)}   or: {command_line('query', study, question)}")


def _usual_folders(yes: bool, *, ask: bool) -> list[Path]:
    from skilljuror.pipeline.ingestion.ingest import usual_folders

    found: list[Path] = usual_folders()
    if not found:
        raise UsageError(
            "no logs named, and none of the folders where agents usually keep theirs exists;"
            " name one: skilljuror ingest PATH --study DIR"
        )
    listing = ", ".join(str(folder) for folder in found)
    if yes:
        return found
    if not ask or not sys.stdin.isatty():
        raise NeedsDecision(f"found {listing}; name the ones to read, or pass --yes for all")
    print(f"found {listing}")
    if not typer.confirm("Read them into this study? They stay on this machine."):
        raise NeedsDecision("nothing was read")
    return found


def _timestamp(since: str | None) -> float | None:
    from skilljuror.moments import moment

    if since is None:
        return None
    try:
        return moment(since).timestamp()
    except ValueError as error:
        raise UsageError(f"--since {error}", field="since") from error


def judge(
    study: Study,
    name: Annotated[str, typer.Option("--judge", help="Which judge.")] = "tracing",
    again: Annotated[
        bool, typer.Option("--again", help="Judge again what it has judged as it is.")
    ] = False,
    model: Annotated[
        str | None,
        typer.Option(
            "--model",
            help="Ask this model, as litellm names it, about what the judge leaves undecided: texts of"
            " the logs are sent to it.",
        ),
    ] = None,
    api_base: Annotated[
        str | None, typer.Option("--api-base", metavar="URL", help="Server that has the model.")
    ] = None,
    budget_usd: Annotated[
        float | None,
        typer.Option("--budget-usd", min=0, help="Stop once the answers have cost that much."),
    ] = None,
    threads: Annotated[int, typer.Option("--threads", min=1, help="Model calls in flight.")] = 16,
    check_yes: Annotated[
        float,
        typer.Option(
            "--check-yes", min=0, max=1, help="Share of the judge's yes put to the model, too."
        ),
    ] = 0.1,
    repeat: Annotated[
        int,
        typer.Option(
            "--repeat", min=1, help="Ask the model so often; the most frequent answer counts."
        ),
    ] = 1,
    probe: Annotated[
        str,
        typer.Option(
            "--probe",
            metavar="order,length",
            help="Ask once more with the accesses in another order, or with padding: how much flips?",
        ),
    ] = "",
    panel: Annotated[
        str,
        typer.Option(
            "--panel", metavar="MODEL,…", help="Ask these models as well, each for itself."
        ),
    ] = "",
    jobs: Jobs = 2,
    json: Json = False,
    debug: Debug = False,
) -> None:
    """Label resource events: did an opened resource become visible work?"""
    from skilljuror.pipeline.judging import judge_study

    if model is None and (api_base or budget_usd is not None or repeat > 1 or probe or panel):
        raise UsageError(
            "--api-base, --budget-usd, --repeat, --probe and --panel go with --model NAME",
            field="model",
        )
    cascades: list[Any] = []
    stopped = None
    with progress(json) as listener:
        if model is None:
            summary = judge_study(study, name, again=again, jobs=jobs, progress=listener)
        else:
            from skilljuror.llm import ModelChoice, SpendingCap
            from skilljuror.pipeline.judging_by_model import ModelOptions

            options = ModelOptions(
                ModelChoice(model, api_base), check_yes,
                None if budget_usd is None else SpendingCap(budget_usd), threads, repeat,
                tuple(filter(None, probe.split(","))),
            )  # fmt: skip
            others = tuple(filter(None, panel.split(",")))
            cascades, stopped = _judge_by_models(
                study, options, name, others, again, jobs, listener
            )
            summary = cascades[0].judged
    payload = {**to_plain(cascades[0]), "panel": cascades[1:]} if cascades else summary
    if not (json and stopped):  # there the error is the one document
        emit(payload, json, lambda: _print_judged(study, summary, cascades))
    problems = [f"{one.model}: {one.problem}" for one in cascades if one.problem]
    for problem in problems:
        print(f"skilljuror: {problem}", file=sys.stderr)
    if stopped:
        raise stopped
    if summary.unread or problems:
        raise typer.Exit(1)


def _judge_by_models(
    study: Path,
    options: Any,
    judge: str,
    panel: tuple[str, ...],
    again: bool,
    jobs: int,
    listener: Any,
) -> tuple[list[Any], SkilljurorError | None]:
    """The cascade of the model, then those of the panel, each for itself, under one budget; and what
    stopped the panel."""
    from msgspec import structs

    from skilljuror.pipeline.judging_by_model import judge_with_model

    main = options.choice.model
    made = [judge_with_model(study, options, judge, again=again, jobs=jobs, progress=listener)]
    for other in dict.fromkeys(name for name in panel if name != main):
        choice = structs.replace(options.choice, model=other)
        one = structs.replace(options, choice=choice, repeat=1, probes=())
        try:
            made.append(
                judge_with_model(study, one, judge, again=again, jobs=jobs, progress=listener)
            )
        except SkilljurorError as error:
            return made, error
    return made, None


def _print_judged(study: Path, summary: Any, cascades: Sequence[Any]) -> None:
    print(f"{summary.events} events of {summary.trajectories} trajectories by {summary.judge}")
    print(_said(summary))
    for cascade in cascades[:1]:
        _print_cascade(cascade)
    for row in cascades[0].stability if cascades else ():
        print(_stability(row))
    for cascade in cascades[1:]:
        print(f"panel, {cascade.model}: {_said(cascade.judged)}")
        if cascade.shares:
            print(f"  {_answers(cascade.shares)}; {_cost(cascade)}")
    print_legend(["ERU rate"])
    for trajectory, reason in summary.unread:
        print(f"  not judged: {trajectory}: {reason}")
    print(f"next: {command_line('report', study)}")


def _said(summary: Any) -> str:
    unparsed = f", {summary.unparsed} without a usable answer" if summary.unparsed else ""
    return (
        f"yes {summary.yes}, no {summary.no}, unknown {summary.unknown}"
        f" ({summary.not_seen_again} of them not seen again{unparsed}); ERU rate {_uptake_rate(summary)}"
    )


def _print_cascade(cascade: Any) -> None:
    """Who settled what, what the model's answers are worth, and what they cost."""
    row = cascade.shares
    if not row:
        return
    free = cascade.first.judge
    print(
        f"settled by {free}: {_share(row['settled_free'], row['events'])}; by the model:"
        f" {_share(row['settled_by_model'], row['events'])}; unknown:"
        f" {_share(row['unknown'], row['events'])}"
    )
    print(_answers(row))
    if row["rechecked"]:
        undecided = row["rechecked"] - row["rechecked_yes"] - row["rechecked_no"]
        print(
            f"of {row['rechecked']} yes of {free} that were put to the model, too, it said yes to"
            f" {row['rechecked_yes']}, no to {row['rechecked_no']}, unknown to {undecided}"
        )
    saved = row["usd_saved_estimate"]
    print(
        _cost(cascade) + ("" if saved is None else f"; saved by {free}, an estimate: ${saved:.4f}")
    )


def _stability(row: dict[str, Any]) -> str:
    flips = f"{_share(row['changed'], row['events'])} of {row['events']} events flip"
    bits = f"; mean entropy {row['entropy']:.2f} bits" if row["events"] else ""
    unparsed = f"; {row['unparsed']} answers without use" if row["unparsed"] else ""
    return f"asked again ({row['probe']}): {flips}{bits}{unparsed}"


def _answers(row: dict[str, Any]) -> str:
    return (
        f"of {row['asked']} events asked in {row['calls']} calls: {row['insufficient_context']} that the"
        f" model could not tell, {row['unverified_quote']} with a quote that is not in the log,"
        f" {row['unparsed']} without a usable answer"
    )


def _cost(cascade: Any) -> str:
    spent, paid = cascade.shares["usd_spent"], cascade.paid_usd
    if spent is None:
        return "cost: not known (no price of this model, or no count of tokens)"
    return f"cost: ${spent:.4f}" + ("" if paid is None else f" (${paid:.4f} of it now)")


def _share(count: int, whole: int) -> str:
    return f"{count} ({100 * count / whole:.1f} %)" if whole else str(count)


def _uptake_rate(summary: Any) -> str:
    """One number, or its two ends where nobody could decide some uses."""
    if summary.rate_low is None:
        return "–"
    low, high = f"{100 * summary.rate_low:.1f} %", f"{100 * summary.rate_high:.1f} %"
    return low if not summary.not_seen_again + summary.unparsed else f"between {low} and {high}"
