"""Commands about verdicts: judge (code and models), review (people); and the local pages of review and view."""

import os
import sys
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

from skilljuror.base.errors import SkilljurorError, UsageError, require
from skilljuror.cli.output import (
    Answer,
    ApiBase,
    Block,
    Budget,
    Indented,
    Jobs,
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
from skilljuror.cli.results import own_usage

if TYPE_CHECKING:
    from collections.abc import Callable

    from skilljuror.base.review import ReviewItem
    from skilljuror.review.desk import StudyDesk


def review(
    place: Path, item: str | None = None, listing: bool = False,
    decide: list[str] | None = None, why: str = "", undo: bool = False,
    reviewer: str | None = None, blind: bool = False, export: Path | None = None,
    import_: Path | None = None, port: int = 0, no_open: bool = False,
) -> Answer | None:  # fmt: skip
    """Decide findings, rubric items, events and sections that need a person.

    Without an option, a page for deciding opens in the browser.
    """
    from msgspec import structs

    from skilljuror.base.review import blind_id
    from skilljuror.base.review_rows import login_name, now, reviewer_name
    from skilljuror.review.desk import StudyDesk
    from skilljuror.review.labels import export_labels, import_labels

    asked = {
        "ID": item, "--list": listing, "--decide": decide, "--undo": undo, "--export": export,
        "--import": import_,
    }  # fmt: skip
    given = [name for name, value in asked.items() if value]
    if len(given) > 1:
        raise UsageError(f"{given[0]} and {given[1]} cannot be combined; use one at a time")
    desk, who = StudyDesk(place), reviewer_name(reviewer or login_name("reviewer"))
    if item:
        shown = desk.asked(item, who, blind)
        shown = structs.replace(shown, texts=tuple(shown.texts))
        return Answer(shown, _item_blocks(shown))
    if decide:
        # all answers, or none if one is invalid
        desk.write([
            desk.decision(desk.question(name), who, answer, why.strip(), blind=blind, at=now())
            for name, _, answer in (words.rpartition("=") for words in decide)
        ])
        return _progress_answer(desk, who, blind, f"{len(decide)} decided by {who}")
    if undo:
        withdrawn = desk.undo(who)
        withdrawn = blind_id(withdrawn) if withdrawn and blind else withdrawn
        done = f"withdrawn: {withdrawn}" if withdrawn else "no answer to withdraw"
        return _progress_answer(desk, who, blind, done)
    if file := export or import_:
        count = export_labels(desk, file) if export else import_labels(desk, file)
        done = "answers exported to" if export else "new answers imported from"
        return Answer({"answers": count}, [f"{count} {done} {file}"])
    if listing:
        return _list(desk, who, blind)
    _open_page(place, desk, who, blind, port, not no_open)
    return None


def _open_page(
    place: Path, desk: "StudyDesk", who: str, blind: bool, port: int, browse: bool
) -> None:
    if wants_json():
        raise UsageError("--json does not apply to the page; add --list or another option")
    require("review", "the page of 'review' (without it: --list and --decide)")
    from skilljuror.review.page import review_app

    if not desk.queue(who, blind):
        print(f"nothing to review in {place}")
        return
    app = review_app(_reviewing(place, desk, who, blind))
    _serve(app, f"answers by {who} are saved at once; reviewing {place}", port, browse)


def view(study: Path | None = None, port: int = 0, no_open: bool = False) -> None:
    """Browse a study on a local page: Skills, trials, runs, timelines, report, review.

    Without STUDY it shows your own agents' logs, as `usage` does. Nothing leaves the machine.
    """
    if wants_json():
        raise UsageError("--json does not apply to the page; use query, usage or show")
    require("review", "'view'")
    from skilljuror.base.files import StudyFolder
    from skilljuror.base.review_rows import login_name, reviewer_name
    from skilljuror.review.desk import StudyDesk
    from skilljuror.review.view import view_app
    from skilljuror.store.connect import open_read

    if study is None:
        study, remarks = own_usage(quiet=False)
        for remark in remarks:
            print(remark, file=sys.stderr)
    with open_read(StudyFolder.existing(study).existing_database):
        pass  # an error is best told before a page opens
    who = reviewer_name(login_name("reviewer"))
    app = view_app(study, _reviewing(study, StudyDesk(study), who, blind=False))
    _serve(app, f"viewing {study}", port, not no_open)


def _reviewing(place: Path, desk: "StudyDesk", who: str, blind: bool) -> Any:
    from skilljuror.base.files import StudyFolder
    from skilljuror.review.labels import agreements
    from skilljuror.review.reviewing import Reviewing
    from skilljuror.store.questions import run

    database = StudyFolder(place).database
    scripted = database.is_file() and run(database, "overview").records()[0]["scripted"]
    notice = "Scripted policy: no language model acted in these trials." if scripted else ""
    return Reviewing(desk, who, blind, partial(agreements, desk), notice)


def _serve(app: Any, said: str, port: int, browse: bool) -> None:
    """Serve pages; tell on standard error what is shown, how to stop it and the address."""
    from skilljuror.review.page import open_browser, serve

    def announce(address: "Callable[[], str]") -> None:
        opened = " in your browser" if browse and open_browser(address()) else ""
        print(
            f"{said}{opened}; stop with Ctrl-C or: kill {os.getpid()}\npage: {address()}",
            file=sys.stderr, flush=True,
        )  # fmt: skip

    serve(app, announce, port)


def _list(desk: "StudyDesk", who: str, blind: bool) -> Answer:
    from msgspec import structs

    from skilljuror.review.labels import agreements

    items = [structs.replace(item, texts=()) for item in desk.queue(who, blind)]
    pairs = [] if blind else agreements(desk)
    rows = [
        (number, item.id, item.title, len(item.repeats), item.machine, item.decided)
        for number, item in enumerate(items, 1)
    ]
    columns = ("", "id", "about", "repeats", "machine", "decided")
    blocks: list[Block] = [Table(columns, rows)] if items else []
    for kind, first, second, agreement in pairs:
        shares = (
            ("agreement", agreement.observed, agreement.observed_interval),
            ("kappa", agreement.kappa, agreement.kappa_interval),
            ("AC1", agreement.ac1, agreement.ac1_interval),
        )
        known = ", ".join(
            f"{name} {value:.2f}{f' [{ends.low:.2f}, {ends.high:.2f}]' if ends else ''}"
            for name, value, ends in shares
            if value is not None
        )
        blocks.append(f"{first} and {second} on {kind}: {agreement.items} questions, {known}")
    decided = sum(item.decided is not None for item in items)
    blocks.append(f"{decided}/{len(items)} decided by {who}" if items else "nothing to review")
    payload = {
        "reviewer": who, "decided": decided, "total": len(items), "items": items,
        "agreement": pairs,
    }  # fmt: skip
    return Answer(payload, blocks)


def _progress_answer(desk: "StudyDesk", who: str, blind: bool, done: str) -> Answer:
    items = desk.queue(who, blind)
    decided = sum(item.decided is not None for item in items)
    payload = {"reviewer": who, "done": done, "decided": decided, "total": len(items)}
    return Answer(payload, [done, f"{decided}/{len(items)} decided by {who}"])


def _item_blocks(item: "ReviewItem") -> Iterator[Block]:
    """An item and its texts, with » « around their marked parts, shortened as on the page."""
    from skilljuror.review.reviewing import passages

    yield f"{item.id}\n{item.title}"
    for text in item.texts:
        yield f"── {text.heading}"
        pieces = groupby(passages(text.text, text.marks), key=lambda piece: piece.marked)
        parts = ((marked, "".join(piece.text for piece in some)) for marked, some in pieces)
        marks = "".join(f"»{words}«" if marked else words for marked, words in parts)
        yield Indented(marks, "   ", "   ")
    if item.machine:
        yield Indented(item.machine, "machine: ", "   ")
    yield from labelled("repeated in", item.repeats)
    yield f"{item.question}\nanswers: {', '.join(item.answers)}"
    yield f"decided: {item.decided or 'not yet'}"


def judge(
    study: Study, files: list[Path] | None = None, rubric: bool = False,
    tasks: Path | None = None, name: str = "tracing", again: bool = False,
    model: str | None = None, api_base: ApiBase = None, budget_usd: Budget = None,
    threads: Threads = 16, check_yes: float = 0.1, panel: str = "", jobs: Jobs = 2,
) -> Answer:  # fmt: skip
    """Label whether each opened resource led to visible work; or grade the work by rubrics.

    A rubric's items are decided by code, then by --model, then by people (`review`).
    """
    from skilljuror.judge.study import judge_study

    if model is None and (api_base or budget_usd is not None or panel):
        raise UsageError("--api-base, --budget-usd and --panel require --model", field="model")
    if rubric and (again or name != "tracing" or panel):
        raise UsageError(
            "--judge, --again and --panel do not apply to --rubric; leave them out", field="rubric"
        )
    if rubric:
        return _judge_rubrics(study, files or [], tasks, (model, api_base, budget_usd), threads)
    if files or tasks:
        raise UsageError("FILE and --tasks require --rubric", field="rubric")
    if model is None:
        with progress() as listener:
            summary = judge_study(study, name, again=again, jobs=jobs, progress=listener)
        return Answer(summary, _judge_blocks(study, summary, []), int(bool(summary.unread)))
    from skilljuror.base.llm import ModelChoice, SpendingCap
    from skilljuror.judge.cascade import ModelOptions, judge_with_model

    budget = None if budget_usd is None else SpendingCap(budget_usd)
    cascades: list[Any] = []
    stopped = None
    with progress() as listener:
        for one in dict.fromkeys((model, *filter(None, panel.split(",")))):
            options = ModelOptions(ModelChoice(one, api_base), check_yes, budget, threads)
            try:
                cascades.append(
                    judge_with_model(
                        study, options, name, again=again, jobs=jobs, progress=listener
                    )
                )
            except SkilljurorError as error:
                stopped = error
                break
    if stopped and not cascades:
        raise stopped
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
    from skilljuror.judge.rubric import judge_rubrics
    from skilljuror.layouts.build.rubric_audit import client_for

    model, api_base, budget_usd = asked
    client = client_for(study, model, api_base, budget_usd) if model else None
    with progress() as listener:
        summary = judge_rubrics(study, tasks, files, client, threads, listener)
    rows = [
        {**to_plain(rubric), "points": " or ".join(f"{points:g}" for points in rubric.points)}
        for rubric in summary.rubrics
    ]
    blocks: list[Block] = [
        records(rows, "rubric, trials, items, points, code, model, people, unjudged")
    ]
    if summary.spent_usd is not None:
        blocks.append(f"cost: ${summary.spent_usd:.4f}")
    blocks += labelled("  incomplete", (f"{name}: {reason}" for name, reason in summary.unread))
    unjudged = sum(rubric.unjudged for rubric in summary.rubrics)
    if unjudged:
        person = command_line("review", study)
        blocks.append(f"unjudged items need a model (--model) or a person: {person}")
    ingested = (study / "study.duckdb").is_file()
    step = ("query", study, "rubric_scores") if ingested else ("ingest", "--study", study)
    return Answer(summary, [*blocks, f"next: {command_line(*step)}"], 3 if unjudged else 0)


def _judge_blocks(study: Path, summary: Any, cascades: Sequence[Any]) -> Iterator[Block]:
    yield f"{summary.events} events of {summary.trajectories} trajectories by {summary.judge}"
    yield _rates(summary)
    for number, cascade in enumerate(cascades):
        if number:
            yield f"panel, {cascade.model}: {_rates(cascade.judged)}"
        if cascade.shares:
            yield from _cascade_lines(cascade)
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
    row, free = cascade.shares, cascade.first.judge
    yield (
        f"decided by {free}: {share_text(row['decided_free'], row['events'])}; by the model:"
        f" {share_text(row['decided_by_model'], row['events'])}; unknown:"
        f" {share_text(row['unknown'], row['events'])}"
    )
    yield (
        f"{row['asked']} events asked in {row['calls']} calls: {row['insufficient_context']} undecided by"
        f" the model, {row['unverified_quote']} with a quote that is not in the log,"
        f" {row['unparsed']} without a usable answer"
    )
    if row["rechecked"]:
        undecided = row["rechecked"] - row["rechecked_yes"] - row["rechecked_no"]
        yield (
            f"{row['rechecked']} yes of {free} checked by the model: yes {row['rechecked_yes']},"
            f" no {row['rechecked_no']}, unknown {undecided}"
        )
    if row["usd_spent"] is None:
        yield "cost: unknown (no price or token count for this model)"
        return
    now = "" if cascade.paid_usd is None else f" (${cascade.paid_usd:.4f} of it now)"
    saved = row["usd_saved_estimate"]
    saving = "" if saved is None else f"; estimated saving by {free}: ${saved:.4f}"
    yield f"cost: ${row['usd_spent']:.4f}{now}{saving}"
